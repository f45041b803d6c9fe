import { chmod, lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Where a process offers what its runs stream. Throws if there can be no such socket. */
export function socketPath(folder: string, processId: string): string {
  // It comes from a log, which others may have written.
  if (!/^[\w-]+$/.test(processId)) throw new Error(`${JSON.stringify(processId)} is no id of a process`)
  const path = join(folder, `${processId.slice(0, nameLength)}.sock`)
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new Error(
      `${path} is too long for a socket: a system takes at most ${maxPathBytes} bytes; choose a shorter folder`,
    )
  return path
}

/** Enough of a random id to be the only one in its folder; the whole one would leave less room for the folder. */
const nameLength = 18
/** macOS takes 103, Linux 107. */
const maxPathBytes = 103

/** Makes a folder that only this user can enter. Throws if it belongs to another user. */
export async function makeOwnFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const found = await lstat(folder)
  if (!found.isDirectory() || !isOwn(found))
    throw new Error(`${folder} is not a folder of this user, so other users could read what is offered in it`)
  if ((found.mode & 0o077) !== 0) await chmod(folder, 0o700)
}

/** Whether there is a socket that this user has opened: that of another user could tell anything. */
export async function isOwnSocket(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined)
  return found?.isSocket() === true && isOwn(found)
}

const isOwn = ({ uid }: { readonly uid: number }): boolean => uid === process.getuid?.()
