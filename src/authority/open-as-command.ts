import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { OpenFile } from '../core/execution.ts'
import { type FileLocation, openFile } from '../platform/files-of.ts'

/** Opens a file as a command would: on this machine commands are not limited to the roots of file tools. */
export async function withCommandFile<T>(
  location: FileLocation,
  path: string,
  use: (file: OpenFile) => Promise<T>,
): Promise<T> {
  const file = isNear(location) && path.startsWith('/') ? await openHere(path) : await openFile(location, path)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

/** Whether the commands of an execution context run on this machine, with its files. */
export function isNear({ execution }: FileLocation): boolean {
  return execution.type === 'process' || execution.capabilities.hostPrograms === true
}

const { O_NONBLOCK = 0, O_RDONLY } = constants

async function openHere(path: string): Promise<OpenFile> {
  const file = await open(path, O_RDONLY | O_NONBLOCK)
  try {
    const info = await file.stat()
    const { size, mtimeMs, ctimeMs, ino, dev } = info
    // Files of the kernel have no size, and some never end.
    if (!info.isFile() || /^\/(?:proc|sys|dev)\//.test(path)) throw new Error(`${path} is not a regular file`)
    const stamp = `${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}`
    return {
      info: { path, key: `${dev} ${ino}`, kind: 'file', size, mtimeMs, stamp },
      async read(position, length) {
        const bytes = Buffer.alloc(length)
        const { bytesRead } = await file.read(bytes, 0, length, position)
        return bytes.subarray(0, bytesRead)
      },
      close: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}
