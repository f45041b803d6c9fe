import * as fs from 'node:fs'
import { copyFile, open } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { codeOf, SessionNotFoundError, StoreError } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { syncFolder } from '../../platform/files.ts'
import { withReadErrors, withWriteErrors } from './file-errors.ts'
import { makeFolder, namesIn, openForReading, refuseLink, syncData } from './files.ts'
import { openLogForReading } from './log-file.ts'
import { findEnd, findLine, type OpenLogPart, withExactErrors } from './log-positions.ts'
import { folderNameOf, readMeta, writeBase } from './session-folder.ts'

/**
 * A part of the entries that a fork shares with the session it was forked from: the first `bytes` of a file in its folder,
 * which is a hard link to the log of that session. So nothing is copied, and what becomes of that session does not matter:
 * its log only grows, and if it is deleted or taken over, the link keeps the file.
 */
export interface BasePart {
  readonly file: string
  readonly entries: number
  readonly bytes: number
}

/** A part with the path of its file and the number of its first entry. */
export interface PlacedPart extends BasePart {
  readonly path: string
  readonly first: number
}

/** The parts that a session shares; none if it is no fork. */
export function partsOf(folder: string): readonly PlacedPart[] {
  let first = 1
  return (readMeta(folder)?.base ?? []).map((part) => {
    const placed = { ...part, path: join(folder, basename(part.file)), first }
    first += part.entries
    return placed
  })
}

/** The number of shared entries. */
export const sharedEntries = (parts: readonly BasePart[]): number =>
  parts.reduce((sum, { entries }) => sum + entries, 0)

/** Opens a part for reading. It is damaged if it is not there. */
export function openPart({ path, first, entries, bytes }: PlacedPart): OpenLogPart {
  const fd = openForReading(path)
  if (fd === undefined) throw new StoreError('corrupt', `${path} is missing; restore it from a backup`)
  return { fd, path, first, end: { seq: first + entries, offset: bytes } }
}

interface ShareOptions {
  readonly dir: string
  readonly id: string
  /** The session whose first `head` entries are shared. */
  readonly base: string
  readonly head: number
}

/** Gives a session without entries those of another one. They belong to it only once it has an entry of its own. */
export async function shareEntries({ dir, id, base, head }: ShareOptions): Promise<void> {
  const [folder, original] = [join(dir, folderNameOf(id)), join(dir, folderNameOf(base))]
  refuseLink(original)
  if (!fs.existsSync(original)) throw new SessionNotFoundError(base)
  const parts: BasePart[] = []
  for (const part of partsOf(original)) {
    const entries = Math.min(part.entries, head - sharedEntries(parts))
    if (entries > 0) parts.push(await linkPart(folder, parts.length + 1, () => openPart(part), entries))
  }
  const entries = head - sharedEntries(parts)
  if (entries > 0)
    parts.push(
      await linkPart(folder, parts.length + 1, () => openOwn(original, base, sharedEntries(parts) + 1), entries),
    )
  await linkBlobs(original, folder)
  failpoint('jsonl.fork.beforeMeta')
  await writeBase(folder, id, parts)
  await withWriteErrors(folder, () => syncFolder(folder))
}

function openOwn(folder: string, id: string, first: number): OpenLogPart {
  const open = openLogForReading(folder)
  if (!open) throw new SessionNotFoundError(id)
  return { ...open, first }
}

/** Links a file of the original into the folder of the fork, and finds where the shared entries end in it. */
async function linkPart(folder: string, n: number, openLines: () => OpenLogPart, entries: number): Promise<BasePart> {
  const file = `base.${n}.jsonl`
  const to = join(folder, file)
  for (let tries = 1; ; tries++) {
    const lines = openLines()
    try {
      const bytes = withExactErrors(lines, () => endOfEntries(lines, entries))
      await linkOrCopy(lines.path, to, bytes)
      await withWriteErrors(to, () => syncData(lines.fd))
      if (isIntact(lines, to, bytes)) return { file, entries, bytes }
    } finally {
      fs.closeSync(lines.fd)
    }
    if (tries === maxTries) throw new StoreError('busy', `${lines.path} is being taken over; try again`)
  }
}

const maxTries = 10

function endOfEntries(lines: OpenLogPart, entries: number): number {
  const endSeq = lines.first + entries
  const end = lines.end ?? findEnd(lines)
  if (end.seq < endSeq)
    throw new RangeError(`${lines.path} has ${end.seq - 1} entries; a fork cannot share ${endSeq - 1}`)
  return findLine(lines, endSeq, { seq: lines.first, offset: 0 }, end).offset
}

/**
 * Whether `to`, a hard link to the open log or a copy of it, still has all shared bytes. Between reading the log and linking
 * it, its writer may have removed lines that it could not sync.
 */
function isIntact({ fd, path }: OpenLogPart, to: string, bytes: number): boolean {
  const { dev, ino } = withReadErrors(path, () => fs.fstatSync(fd, { bigint: true }))
  const linked = withReadErrors(to, () => fs.statSync(to, { bigint: true, throwIfNoEntry: false }))
  if (!linked) return false // the log was moved before it could be linked
  const isLink = linked.ino === ino && linked.dev === dev
  return isLink ? linked.size >= bytes : linked.nlink === 1n && linked.size === BigInt(bytes)
}

/** Makes a hard link or, on a file system without hard links, a copy of the first bytes. Does nothing if `from` is missing. */
async function linkOrCopy(from: string, to: string, bytes?: number): Promise<void> {
  await withWriteErrors(to, async () => {
    fs.rmSync(to, { force: true })
    try {
      fs.linkSync(from, to)
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return
      if (!noLinks.has(codeOf(error) ?? '')) throw error
      await copyDurably(from, to, bytes)
    }
  })
}

async function copyDurably(from: string, to: string, bytes: number | undefined): Promise<void> {
  await copyFile(from, to, fs.constants.COPYFILE_FICLONE)
  const file = await open(to, 'r+')
  try {
    if (bytes !== undefined) await file.truncate(bytes)
    await file.chmod(0o600)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Codes of file systems without hard links, and of a file that has too many. */
const noLinks = new Set(['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EINVAL'])

/** The blobs of the original, so that the shared entries find theirs. */
async function linkBlobs(original: string, folder: string): Promise<void> {
  const to = sharedBlobsPath(folder)
  for (const from of [sharedBlobsPath(original), join(original, 'blobs')]) {
    const names = namesIn(from).filter((name) => !name.includes('.'))
    if (names.length === 0) continue
    makeFolder(to)
    for (const name of names) await linkOrCopy(join(from, name), join(to, name))
    await withWriteErrors(to, () => syncFolder(to))
  }
}

export const sharedBlobsPath = (folder: string): string => join(folder, 'base-blobs')
