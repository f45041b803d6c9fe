import { messageOf, StoreError } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'

/** Anything that keeps texts by name. Each method may return its result or a promise of it. */
export interface FileMapAdapter {
  get(path: string): Promise<string | undefined | null> | string | undefined | null
  save(path: string, text: string): Promise<void> | void
  delete(path: string): Promise<void> | void
  /** The names that begin with `prefix`. Without this method the store keeps a list itself. */
  list?(prefix: string): Promise<readonly string[]> | readonly string[]
}

/** The adapter, with errors that name the file. */
export interface AdapterFiles {
  get(path: string): Promise<string | undefined>
  save(path: string, text: string): Promise<void>
  delete(path: string): Promise<void>
  readonly list?: (prefix: string) => Promise<readonly string[]>
}

export function adapterFiles(adapter: FileMapAdapter): AdapterFiles {
  return {
    get: (path) => named('get', path, async () => (await adapter.get(path)) ?? undefined),
    save: (path, text) => named('save', path, async () => adapter.save(path, text)),
    delete: (path) => named('delete', path, async () => adapter.delete(path)),
    ...(adapter.list && {
      list: (prefix: string) => named('list', prefix, async () => (await adapter.list?.(prefix)) ?? []),
    }),
  }
}

async function named<T>(verb: keyof AdapterFiles, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    const next = nextStep[verb]
    throw new StoreError('unavailable', `The adapter failed to ${verb} "${path}": ${messageOf(cause)}; ${next}`, {
      cause,
    })
  }
}

const mayBeChanged = 'the change may have been made all the same, try again'
const nextStep = { get: 'try again', list: 'try again', save: mayBeChanged, delete: mayBeChanged } as const

/**
 * The folder of a session: its id, with all characters encoded that may be special in a path. Capital letters are encoded
 * too, for case-insensitive file systems. A lone surrogate, which has no UTF-8, becomes `%u` and its code.
 */
function folderOf(id: string): string {
  if (id === '') return '%'
  return [...id].map(encoded).join('')
}

function encoded(character: string): string {
  if (/^[a-z0-9_-]$/.test(character)) return character
  if (!character.isWellFormed()) return `%u${character.charCodeAt(0).toString(16)}`
  return Array.from(utf8.encode(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

const utf8 = new TextEncoder()

/** The id of a folder; undefined if the folder is not one of a session. */
export function idOf(folder: string): string | undefined {
  if (folder === '%') return ''
  try {
    const id = folder
      .split(/%u([0-9a-f]{4})/)
      .map((part, i) => (i % 2 === 0 ? decodeURIComponent(part) : String.fromCharCode(Number.parseInt(part, 16))))
      .join('')
    return folderOf(id) === folder ? id : undefined
  } catch {
    return undefined
  }
}

/** The entries of a session that is not a fork, or not any more. */
export const entriesPath = (id: string): string => `${folderOf(id)}/turns.jsonl`
/** The entries of a fork that it does not share. */
export const forkPath = (id: string): string => `${folderOf(id)}/fork.jsonl`
export const metaPath = (id: string): string => `${folderOf(id)}/meta.json`
export const blobPath = (id: string, name: string): string => `${folderOf(id)}/blobs/${name}`
export const indexPath = 'index.json'

/** Entries as lines to append. */
export const textOf = (entries: readonly LogEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/** The entries that `meta.json` counts; later lines were never acknowledged. */
export function firstLines(text: string, count: number, path: string): string {
  const end = startOfLine(text, count)
  if (end === undefined)
    throw new StoreError(
      'corrupt',
      `${path} has fewer complete lines than its meta.json requires (${count}); restore it`,
    )
  return text.slice(0, end)
}

/** The first `count` lines. */
export const linesOf = (text: string, count: number): string => text.slice(0, startOfLine(text, count) ?? text.length)

/** Where entries are: a file, and the number of the entry in its first line. */
export interface EntriesFile {
  readonly path: string
  readonly from: number
}

/** The entries of a range. `files`, in the order of their entries, are named by errors. */
export function entriesIn(
  text: string,
  { from, to }: { from: number; to: number },
  files: readonly EntriesFile[],
): LogEntry[] {
  const entries: LogEntry[] = []
  let start = startOfLine(text, from - 1) ?? text.length
  for (let seq = from; seq <= to && start < text.length; seq++) {
    const end = text.indexOf('\n', start)
    entries.push(entryOf(text.slice(start, end), seq, files))
    start = end + 1
  }
  return entries
}

/** The `clientKey` of every entry that has one. Only lines that may have one are parsed. */
export function keysIn(text: string, files: readonly EntriesFile[]): Set<string> {
  const keys = new Set<string>()
  for (const [i, line] of text.split('\n').entries()) {
    if (!line.includes('"clientKey":')) continue
    const key = keyOf(entryOf(line, i + 1, files))
    if (key) keys.add(key)
  }
  return keys
}

export const keyOf = (entry: LogEntry): string | undefined => ('clientKey' in entry ? entry.clientKey : undefined)

function entryOf(line: string, seq: number, files: readonly EntriesFile[]): LogEntry {
  let entry: LogEntry | null = null
  let cause: unknown
  try {
    entry = JSON.parse(line) as LogEntry | null
  } catch (error) {
    cause = error
  }
  if (entry?.seq === seq) return entry
  const { path, from } = files.findLast((file) => file.from <= seq)!
  throw new StoreError(
    'corrupt',
    `${path}, line ${seq - from + 1} is not entry ${seq}; restore the file, or repair that line`,
    { cause },
  )
}

/** The position after `count` lines; undefined if there are fewer. */
function startOfLine(text: string, count: number): number | undefined {
  let start = 0
  for (let i = 0; i < count; i++) {
    const end = text.indexOf('\n', start)
    if (end < 0) return undefined
    start = end + 1
  }
  return start
}
