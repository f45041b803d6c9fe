import { constants, type Stats } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { codeOf } from '../../core/errors.ts'
import { digestOf } from '../../platform/digest.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'

/** The end of a chain: the number of its newest record, and the hash that the next one must name. */
export interface ChainEnd {
  readonly seq: number
  readonly hash: string
}

/** Before the first record. */
export const chainStart: ChainEnd = { seq: 0, hash: '0'.repeat(64) }

/** The next line of a chain, without newline. Its hash covers the line without the hash field. */
function chained(
  end: ChainEnd,
  at: number,
  fields: Readonly<Record<string, unknown>>,
): ChainEnd & { readonly line: string } {
  const seq = end.seq + 1
  // Spread first for the order of fields, and last so that no record can overwrite them.
  const own = { seq, at: new Date(at).toISOString() }
  const { hash: _, ...rest } = fields
  const text = JSON.stringify({ ...own, ...rest, ...own, prev: end.hash }).replace(unseen, escapedInJson)
  const hash = digestOf(text)
  return { seq, hash, line: `${text.slice(0, -1)},"hash":"${hash}"}` }
}

// Characters that JSON does not escape, but that a terminal or a line reader interprets.
const unseen = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escapedInJson = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')

/** The end of the chain after this line; a text if the line is invalid. */
export function readLink(line: string): (ChainEnd & { readonly prev: string }) | string {
  const [ending, hash = ''] = /,"hash":"([0-9a-f]{64})"\}$/.exec(line.slice(-76)) ?? []
  if (ending === undefined) return 'it is no whole record'
  if (digestOf(`${line.slice(0, -ending.length)}}`) !== hash) return 'it was changed: its hash is not that of its text'
  try {
    const { seq, prev } = JSON.parse(line) as { seq: unknown; prev: unknown }
    if (typeof seq === 'number' && typeof prev === 'string') return { seq, prev, hash }
  } catch {}
  return 'it is no record of an audit'
}

/** The end of a chain when it was last written, and the file's identity. */
export interface KnownEnd extends ChainEnd {
  readonly inode: number
  readonly device: number
  readonly size: number
}

/** The fields of a record, without those of the chain. */
export type RecordFields = Readonly<Record<string, unknown>>

interface Link {
  readonly at: number
  readonly fields: RecordFields
}

interface AppendOptions {
  readonly known: KnownEnd | undefined
  /** The end of the chain before this file, for a file that is empty. */
  readonly start: () => Promise<ChainEnd>
  /** Records that a new file begins with. */
  readonly first: readonly RecordFields[]
  readonly links: readonly Link[]
  readonly clock: Clock
  readonly isSynced: boolean
}

/** Appends lines in one write. Damage found at the end of the file is recorded in a line before them. */
export async function appendToChain(
  path: string,
  { known, start, first, links, clock, isSynced }: AppendOptions,
): Promise<KnownEnd> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await openOwn(path)
  try {
    const info = await file.stat()
    const isSame = known?.inode === info.ino && known.device === info.dev && known.size === info.size
    const found = isSame
      ? { end: known, size: info.size, notes: [] }
      : await readEnd(path, file, { info, known, start })
    let end: ChainEnd = found.end
    let text = ''
    const notes = info.size === 0 ? [...first, ...found.notes] : found.notes
    for (const { at, fields } of [...notes.map((fields) => ({ at: clock.now(), fields })), ...links]) {
      const { line, ...next } = chained(end, at, fields)
      text += `${line}\n`
      end = next
    }
    await file.appendFile(text)
    if (isSynced) await file.datasync()
    if (isSynced && info.size === 0) await syncFolder(dirname(path))
    return {
      seq: end.seq,
      hash: end.hash,
      inode: info.ino,
      device: info.dev,
      size: found.size + Buffer.byteLength(text),
    }
  } finally {
    await file.close()
  }
}

/** Opens a regular file for appending, not through a link, readable only by its owner. */
async function openOwn(path: string): Promise<FileHandle> {
  const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600).catch((error) => {
    if (codeOf(error) === 'ELOOP') throw new Error('it is a link, which an audit does not follow', { cause: error })
    throw error
  })
  try {
    const info = await file.stat()
    if (!info.isFile()) throw new Error('it is no regular file')
    if ((info.mode & 0o077) !== 0) await file.chmod(0o600)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Reads the end of the chain from the file, with notes about damage that must be recorded first. */
async function readEnd(
  path: string,
  file: FileHandle,
  { info, known, start }: { info: Stats } & Pick<AppendOptions, 'known' | 'start'>,
): Promise<{ end: ChainEnd; size: number; notes: readonly RecordFields[] }> {
  const { line, torn } = await lastLine(file, info.size)
  const end = line === undefined ? await start() : readLink(line)
  if (typeof end === 'string')
    throw new Error(`its last line is damaged: ${end}; keep the file for an investigation, and begin a new one`)
  const notes: RecordFields[] = []
  if (known && end.seq < known.seq) notes.push(integrity('AuditCut', { lastSeq: known.seq, lastHash: known.hash }))
  // Named after the record that will mention it: after a crash in between, the next process finds and records it.
  const aside = `${path}.torn-${end.seq + 1}`
  if (torn.length > 0) {
    await writeFileAtomic(aside, torn.toString('utf8'))
    await file.truncate(info.size - torn.length)
  }
  const kept = await readTextIfThere(aside)
  if (kept !== undefined)
    notes.push(integrity('AuditTornLine', { keptIn: basename(aside), characters: kept.length, digest: digestOf(kept) }))
  return { end, size: info.size - torn.length, notes }
}

/** A record about the audit itself. */
export const integrity = (event: string, details: RecordFields): RecordFields => ({
  class: 'Integrity',
  event,
  details,
})

/** The end of the chain of a file; undefined if it has no record, or if its last line is damaged. */
export async function endOf(path: string): Promise<ChainEnd | undefined> {
  const file = await open(path)
  try {
    const { line } = await lastLine(file, (await file.stat()).size)
    const end = line === undefined ? undefined : readLink(line)
    return typeof end === 'object' ? { seq: end.seq, hash: end.hash } : undefined
  } finally {
    await file.close()
  }
}

/** The last complete line, and the incomplete rest after a crash. */
async function lastLine(file: FileHandle, size: number): Promise<{ line: string | undefined; torn: Buffer }> {
  for (let span = 64 * 1024; ; span *= 4) {
    const start = Math.max(size - span, 0)
    const bytes = Buffer.alloc(size - start)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
    if (bytesRead < bytes.length) throw new Error('it became shorter while it was read')
    const end = bytes.lastIndexOf('\n')
    const before = end <= 0 ? -1 : bytes.lastIndexOf('\n', end - 1)
    if (start > 0 && before < 0) continue
    return { line: end < 0 ? undefined : bytes.toString('utf8', before + 1, end), torn: bytes.subarray(end + 1) }
  }
}

/** Syncs the folder, without which a new file may be lost. Ignored where the system does not support it. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
