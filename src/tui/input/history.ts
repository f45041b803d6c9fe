import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { fuzzyIndex } from '../../chat/fuzzy-match.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { codeOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { headBytes } from '../../core/text.ts'
import { withLock } from '../../platform/lock.ts'

/** A text that the person sent, or cleared before it was sent. */
export interface HistoryEntry {
  readonly text: string
  /** Where it was written. */
  readonly folder: string
  /** In ms since the epoch. */
  readonly at: number
  /** It was cleared, not sent. */
  readonly isDraft?: true
}

export interface PromptHistory {
  /** Texts, newest first: those of this folder before those of others, each once. */
  recent(): readonly string[]
  /** Texts that contain the query, newest first, then those that have its letters in this order, best first. */
  search(query: string): readonly string[]
  /** Stores a text. Reports a failure to `onProblem` instead of throwing, because the person is sending a message meanwhile. */
  add(text: string, kind?: 'sent' | 'draft'): void
  /** Resolves when a file that has become too large is put aside. */
  settled(): Promise<void>
}

interface HistoryOptions {
  /** A file of JSON lines, mode 0600. Beside it lies the one before it. */
  readonly file: string
  readonly folder: string
  readonly clock?: Clock
  readonly onProblem?: (error: unknown) => void
}

/**
 * The prompts of all sessions of this user. Several processes may use the file: a line is appended by one write, and a
 * file of 1 MB becomes the earlier one of two by a rename, so that no line is lost meanwhile.
 */
export function openHistory({ file, folder, clock = systemClock, onProblem }: HistoryOptions): PromptHistory {
  let entries: readonly HistoryEntry[] = []
  let readAs = ''
  let rotating: Promise<unknown> = Promise.resolve()

  /** Reads again only what changed, also by other processes. */
  function load(): readonly HistoryEntry[] {
    const files = [`${file}.1`, file]
    const now = files.map(stampOf).join(' ')
    if (now !== readAs) entries = files.flatMap(readEntries).slice(-mostEntries)
    readAs = now
    return entries
  }

  /** Each text once, at its newest place. */
  function recent(): readonly string[] {
    const newest = load().toReversed()
    const here = newest.filter((entry) => entry.folder === folder)
    const elsewhere = newest.filter((entry) => entry.folder !== folder)
    return [...new Set([...here, ...elsewhere].map(({ text }) => text))]
  }

  async function rotate(): Promise<void> {
    await withLock(`${file}.lock`, async () => {
      if (sizeOf(file) > mostBytes) renameSync(file, `${file}.1`)
    })
  }

  return {
    recent,
    search(query) {
      const texts = [
        ...new Set(
          load()
            .map(({ text }) => text)
            .toReversed(),
        ),
      ]
      if (query === '') return texts
      const wanted = query.toLowerCase()
      const containing = texts.filter((text) => text.toLowerCase().includes(wanted))
      const seen = new Set(containing)
      const similar = fuzzyIndex(texts, (text) => headBytes(text, longestSearched)).best(query, mostSimilar)
      return [...containing, ...similar.filter((text) => !seen.has(text))]
    },
    add(text, kind = 'sent') {
      if (text.trim() === '' || load().at(-1)?.text === text) return
      const kept = headBytes(text, longestText)
      const entry = { text: kept, folder, at: clock.now(), ...(kind === 'draft' && { isDraft: true }) }
      try {
        appendLine(file, JSON.stringify(entry))
        if (sizeOf(file) > mostBytes) rotating = rotate().catch(onProblem)
      } catch (error) {
        onProblem?.(error)
      }
    },
    async settled() {
      await rotating
    },
  }
}

const mostEntries = 2000
/** Of one of the two files. */
const mostBytes = 1024 * 1024
const longestText = 256 * 1024
const longestSearched = 2000
const mostSimilar = 50

/** Begins with a newline: a line that a crash or a full disk cut off stays alone. */
function appendLine(path: string, line: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const file = openSync(path, 'a', 0o600)
  try {
    writeSync(file, `\n${line}\n`)
  } finally {
    closeSync(file)
  }
}

function readEntries(path: string): HistoryEntry[] {
  try {
    return readFileSync(path, 'utf8').split('\n').flatMap(readEntry)
  } catch {
    return [] // without its history the program works as well
  }
}

/** A broken line is left out. */
function readEntry(line: string): HistoryEntry[] {
  if (line === '') return []
  try {
    const value: unknown = JSON.parse(line)
    if (!isRecord(value)) return []
    const { text, folder, at, isDraft } = value
    if (typeof text !== 'string' || typeof folder !== 'string' || typeof at !== 'number') return []
    return [{ text, folder, at, ...(isDraft === true && { isDraft }) }]
  } catch {
    return []
  }
}

function stampOf(path: string): string {
  try {
    const { size, ino, mtimeMs } = statSync(path)
    return `${size}/${ino}/${mtimeMs}`
  } catch (error) {
    return String(codeOf(error))
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
