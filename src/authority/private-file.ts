import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AgentError, codeOf } from '../core/errors.ts'

/** A file that decides about permissions is not protected as it must be, so it is ignored. Only its owner can fix that. */
export class PrivateFileError extends AgentError {}

/** Reads a file that other users can neither read nor replace; undefined if there is none. `stamp` changes with the file. */
export async function readPrivateFile(path: string): Promise<{ text: string; stamp: string } | undefined> {
  await refuseOpenFolder(dirname(path))
  const file = await ifThere(() => openUnlinked(path))
  if (!file) return undefined
  try {
    const info = await file.stat({ bigint: true })
    refuseOthers(path, info)
    if (info.size > mostBytes)
      throw new PrivateFileError(`${path} has ${info.size} bytes, more than it can need; look at it, then move it away`)
    return { text: await file.readFile('utf8'), stamp: stampIn(info) }
  } finally {
    await file.close()
  }
}

const mostBytes = 16 * 1024 * 1024

/** The current stamp of a file, without opening it; undefined if there is none. */
export async function stampOf(path: string): Promise<string | undefined> {
  const info = await ifThere(() => lstat(path, { bigint: true }))
  return info && stampIn(info)
}

/** Refuses a folder that other users can write to: they could replace the file. */
async function refuseOpenFolder(folder: string): Promise<void> {
  const info = await ifThere(() => lstat(folder, { bigint: true }))
  if (!info) return
  if (!info.isDirectory()) {
    const what = info.isSymbolicLink() ? 'a link' : 'not a folder'
    throw new PrivateFileError(`${folder} is ${what}, so nothing in it counts; put the real folder in its place`)
  }
  const owner = foreignOwner(info)
  if (owner !== undefined)
    throw new PrivateFileError(`${folder} belongs to user ${owner}, so nothing in it counts; use a folder of your own`)
  if (hasModes && (info.mode & 0o022n) !== 0n)
    throw new PrivateFileError(
      `${folder} can be written by others (mode ${modeOf(info)}), so nothing in it counts; look through it, then run: chmod 700 ${folder}`,
    )
}

const { O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants

async function openUnlinked(path: string): Promise<FileHandle> {
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) !== 'ELOOP') throw error
    throw new PrivateFileError(`${path} is a link, so nothing in it counts; put the real file in its place`)
  }
}

function refuseOthers(path: string, info: BigIntStats): void {
  if (!info.isFile()) throw new PrivateFileError(`${path} is not a file, so nothing in it counts; move it away`)
  const owner = foreignOwner(info)
  if (owner !== undefined)
    throw new PrivateFileError(`${path} belongs to user ${owner}, so nothing in it counts; move it away`)
  if (hasModes && (info.mode & 0o077n) !== 0n)
    throw new PrivateFileError(
      `${path} is open to others (mode ${modeOf(info)}), so nothing in it counts; look through it, then run: chmod 600 ${path}`,
    )
}

const hasModes = process.platform !== 'win32'

function foreignOwner({ uid }: BigIntStats): bigint | undefined {
  const own = process.getuid?.()
  return own === undefined || uid === BigInt(own) ? undefined : uid
}

const modeOf = ({ mode }: BigIntStats): string => (mode & 0o7777n).toString(8)

function stampIn({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`
}

async function ifThere<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
