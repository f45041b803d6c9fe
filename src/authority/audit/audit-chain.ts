import { constants, type Stats } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { codeOf, messageOf } from '../../core/errors.ts'
import { digestOf } from '../../platform/digest.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'

/** The end of a chain: the number of its newest record, and the hash that the next one must name. */
interface ChainEnd {
  readonly seq: number
  readonly hash: string
}

/** Before the first record. */
const chainStart: ChainEnd = { seq: 0, hash: '0'.repeat(64) }

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
function readLink(line: string): (ChainEnd & { readonly prev: string }) | string {
  const [ending, hash = ''] = /,"hash":"([0-9a-f]{64})"\}$/.exec(line.slice(-76)) ?? []
  if (ending === undefined) return 'it is no whole record'
  if (digestOf(`${line.slice(0, -ending.length)}}`) !== hash) return 'it was changed: its hash is not that of its text'
  try {
    const { seq, prev } = JSON.parse(line) as { seq: unknown; prev: unknown }
    if (typeof seq === 'number' && typeof prev === 'string') return { seq, prev, hash }
  } catch {}
  return 'it is no record of an audit'
}

/**
 * Checks that every record of an audit file, or of all files in a folder, is unchanged and that none is missing in
 * between, and gives the first invalid line. Records cut off at the end leave no trace in the file: store the newest hash
 * elsewhere.
 */
export async function verifyAudit(
  path: string,
): Promise<
  | { readonly ok: true; readonly records: number }
  | { readonly ok: false; readonly line: number; readonly problem: string }
> {
  try {
    if (!(await stat(path)).isDirectory()) return await verifyFile(path)
    const files = (await readdir(path)).filter((name) => name.endsWith('.jsonl')).sort()
    let records = 0
    for (const file of files) {
      const check = await verifyFile(join(path, file))
      if (!check.ok) return { ...check, problem: `${file}: ${check.problem}` }
      records += check.records
    }
    return { ok: true, records }
  } catch (error) {
    return { ok: false, line: 0, problem: `${path} cannot be read: ${messageOf(error)}` }
  }
}

async function verifyFile(path: string): ReturnType<typeof verifyAudit> {
  let end = chainStart
  const file = await open(path)
  try {
    let line = 0
    for await (const text of linesOf(file)) {
      line++
      const link = readLink(text)
      if (typeof link === 'string') return { ok: false, line, problem: link }
      if (link.seq !== end.seq + 1)
        return { ok: false, line, problem: `it is record ${link.seq}, but ${end.seq + 1} comes next: some are missing` }
      if (link.prev !== end.hash)
        return { ok: false, line, problem: 'it does not name the hash of the record before it' }
      end = link
    }
    return { ok: true, records: end.seq }
  } finally {
    await file.close()
  }
}

/** The lines of a file, including an unterminated last one. */
async function* linesOf(file: FileHandle): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of file.createReadStream({ encoding: 'utf8', autoClose: false })) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

/** The end of a chain when it was last written, and the file's identity. */
export interface KnownEnd extends ChainEnd {
  readonly inode: number
  readonly device: number
  readonly size: number
}

interface Link {
  readonly at: number
  readonly fields: Readonly<Record<string, unknown>>
}

/** Appends lines in one write. Damage found at the end of the file is recorded in a line before them. */
export async function appendToChain(
  path: string,
  {
    known,
    links,
    clock,
    isSynced,
  }: { known: KnownEnd | undefined; links: readonly Link[]; clock: Clock; isSynced: boolean },
): Promise<KnownEnd> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await openOwn(path)
  try {
    const info = await file.stat()
    const isSame = known?.inode === info.ino && known.device === info.dev && known.size === info.size
    const found = isSame ? { end: known, size: info.size, notes: [] } : await readEnd(path, file, { info, known })
    let end: ChainEnd = found.end
    let text = ''
    for (const { at, fields } of [...found.notes.map((note) => ({ at: clock.now(), fields: note })), ...links]) {
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
  { info, known }: { info: Stats; known: KnownEnd | undefined },
): Promise<{ end: ChainEnd; size: number; notes: readonly Link['fields'][] }> {
  const { line, torn } = await lastLine(file, info.size)
  const end = line === undefined ? chainStart : readLink(line)
  if (typeof end === 'string')
    throw new Error(`its last line is damaged: ${end}; keep the file for an investigation, and begin a new one`)
  const notes: Link['fields'][] = []
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

const integrity = (event: string, details: Readonly<Record<string, unknown>>): Link['fields'] => ({
  class: 'Integrity',
  event,
  details,
})

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
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
