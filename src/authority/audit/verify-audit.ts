import { type FileHandle, open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { type ChainEnd, chainStart, readLink } from './audit-chain.ts'
import { prunedEvent, rotatedFilesOf } from './audit-files.ts'

interface Problem {
  readonly ok: false
  readonly line: number
  readonly problem: string
}

/**
 * Checks that every record of an audit is unchanged and that none is missing in between, and gives the first invalid line:
 * of a file with those that it was rotated into, or of all files in a folder. A file that continues another one must find
 * it, or a record that says that it was removed for its age or size. Records cut off at the end leave no trace: store the
 * newest hash elsewhere.
 */
export async function verifyAudit(
  path: string,
): Promise<
  | { readonly ok: true; readonly records: number }
  | { readonly ok: false; readonly line: number; readonly problem: string }
> {
  try {
    if ((await stat(path)).isDirectory()) {
      const names = (await readdir(path)).filter((name) => name.endsWith('.jsonl')).sort()
      return await verifyFiles(path, names)
    }
    return await verifyFiles(dirname(path), [...(await rotatedFilesOf(path)), basename(path)], basename(path))
  } catch (error) {
    return { ok: false, line: 0, problem: `${path} cannot be read: ${messageOf(error)}` }
  }
}

/** Problems of the file `main` are reported without its name. */
async function verifyFiles(folder: string, names: readonly string[], main?: string): ReturnType<typeof verifyAudit> {
  const files = new Map<string, VerifiedFile>()
  const inFile = (name: string, { line, problem }: Omit<Problem, 'ok'>): Problem => ({
    ...{ ok: false, line, problem: name === main ? problem : `${name}: ${problem}` },
  })
  for (const name of names) {
    const file = await verifyFile(join(folder, name))
    if ('problem' in file) return inFile(name, file)
    files.set(name, file)
  }
  const ends = new Map([...files.values()].map(({ end }) => [end.hash, end.seq]))
  const removed = new Set([...files.values()].flatMap(({ removedHashes }) => removedHashes))
  const continued = new Set<string>([chainStart.hash])
  let records = 0
  for (const [name, { start, end }] of files) {
    records += end.seq - start.seq
    if (start.hash === chainStart.hash) continue
    if (continued.has(start.hash))
      return inFile(name, { line: 1, problem: `it continues record ${start.seq}, as another file does` })
    continued.add(start.hash)
    if (ends.get(start.hash) !== start.seq && !removed.has(start.hash))
      return inFile(name, {
        line: 1,
        problem: `it continues record ${start.seq}, which is in no file here, and no record says why: some are missing`,
      })
  }
  return { ok: true, records }
}

interface VerifiedFile {
  /** The record that its first one continues. */
  readonly start: ChainEnd
  readonly end: ChainEnd
  /** The ends of files that its records say were removed. */
  readonly removedHashes: readonly string[]
}

async function verifyFile(path: string): Promise<VerifiedFile | Omit<Problem, 'ok'>> {
  const file = await open(path)
  try {
    let start: ChainEnd | undefined
    let end = chainStart
    let line = 0
    const removedHashes: string[] = []
    for await (const text of linesOf(file)) {
      line++
      const link = readLink(text)
      if (typeof link === 'string') return { line, problem: link }
      // A file may continue another one, which is looked for later.
      start ??= link.seq === 1 ? chainStart : { seq: link.seq - 1, hash: link.prev }
      if (line === 1) end = start
      if (link.seq !== end.seq + 1)
        return { line, problem: `it is record ${link.seq}, but ${end.seq + 1} comes next: some are missing` }
      if (link.prev !== end.hash) return { line, problem: 'it does not name the hash of the record before it' }
      end = link
      if (text.includes(prunedEvent)) removedHashes.push(...removedIn(text))
    }
    return { start: start ?? chainStart, end, removedHashes }
  } finally {
    await file.close()
  }
}

function removedIn(line: string): readonly string[] {
  const record: unknown = JSON.parse(line)
  if (!isRecord(record) || record.event !== prunedEvent || !isRecord(record.details)) return []
  const { files } = record.details
  return Array.isArray(files) ? files.flatMap((file) => (isRecord(file) ? [String(file.lastHash)] : [])) : []
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
