import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { digestOf } from '../../platform/digest.ts'

/** Where a chain stands: the number of its newest record, and the hash the next one has to name. */
export interface ChainEnd {
  readonly seq: number
  readonly hash: string
}

/** Before the first record. */
export const chainStart: ChainEnd = { seq: 0, hash: '0'.repeat(64) }

/** The next line of a chain, without its newline. Its hash is that of the line as it would be without it. */
export function chained(
  end: ChainEnd,
  at: number,
  fields: Readonly<Record<string, unknown>>,
): ChainEnd & { readonly line: string } {
  const seq = end.seq + 1
  // Spread first and last: the numbers lead the line, and no record can bring its own.
  const own = { seq, at: new Date(at).toISOString() }
  const { hash: _, ...rest } = fields
  const text = JSON.stringify({ ...own, ...rest, ...own, prev: end.hash }).replace(unseen, escapedInJson)
  const hash = digestOf(text)
  return { seq, hash, line: `${text.slice(0, -1)},"hash":"${hash}"}` }
}

// What JSON leaves as it is, and a terminal or a reader of lines does not.
const unseen = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escapedInJson = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('')

/** Where the chain stands after this line; a text says what is wrong with it. */
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

/** What `verifyAudit` found; of what is wrong, the first line. */
export type AuditCheck =
  | { readonly ok: true; readonly records: number }
  | { readonly ok: false; readonly line: number; readonly problem: string }

/**
 * Reads an audit file, or all those of a folder, and tells whether every record is as it was written and none is missing
 * between two others. What is cut off at the end leaves no trace in the file itself: keep the newest hash elsewhere.
 */
export async function verifyAudit(path: string): Promise<AuditCheck> {
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

async function verifyFile(path: string): Promise<AuditCheck> {
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

/** What does not end in a newline comes as a last line. */
async function* linesOf(file: FileHandle): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of file.createReadStream({ encoding: 'utf8', autoClose: false })) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
