import { digestOf } from '../platform/digest.ts'
import { JobTimeout, type PersistentWorker, persistentWorker } from '../platform/worker-threads.ts'
import type { ShellReading } from './reading.ts'
import type { ThreadJob } from './shell-thread.ts'

/** Parses shell lines. */
export interface ShellReader {
  /**
   * Parses a line. A line that cannot be parsed gives a reading with `isWhole: false`. Rejects only if there is no thread;
   * then nothing is known about the line, not even its words.
   */
  read(text: string): Promise<ShellReading>
  close(): Promise<void>
}

/** Parses shell lines in a thread, and caches the results. */
export function createShellReader({
  timeoutMs = 1000,
  maxCached = 500,
}: {
  /** Time limit per line. A line that exceeds it counts as not whole. */
  readonly timeoutMs?: number
  /** The size of the cache. */
  readonly maxCached?: number
} = {}): ShellReader {
  const hold = acquireThread()
  const readings = new Map<string, Promise<ShellReading>>()
  return {
    read(text) {
      // Long texts are not cached; they are not parsed anyway.
      if (text.length > mostCached) return readIn(hold, text, timeoutMs)
      const digest = digestOf(text)
      const reading = readings.get(digest) ?? readIn(hold, text, timeoutMs)
      // Least recently used first; the first is dropped.
      readings.delete(digest)
      readings.set(digest, reading)
      if (readings.size > maxCached) readings.delete(readings.keys().next().value!)
      reading.catch(() => readings.delete(digest))
      return reading
    },
    async close() {
      readings.clear()
      await hold.release()
    },
  }
}

const mostCached = 16_384
/** Splitting a text into words is one pass; exceeding this time means an overloaded machine. */
const wordsMs = 30_000

async function readIn(hold: ThreadReference, text: string, timeoutMs: number): Promise<ShellReading> {
  try {
    return await hold.ask<ShellReading>({ read: text }, timeoutMs)
  } catch (error) {
    if (!(error instanceof JobTimeout)) throw error
    const obstacle = `a line that takes longer than ${timeoutMs} ms to read`
    return await hold.ask<ShellReading>({ words: text, obstacle }, wordsMs)
  }
}

export type ReadLine = (line: string) => ShellReading | Promise<ShellReading>

/** Calls `use` with a new reader, whose thread ends afterwards. */
export async function withReader<T>(use: (read: ReadLine) => Promise<T>): Promise<T> {
  const reader = createShellReader()
  try {
    return await use(reader.read)
  } finally {
    await reader.close()
  }
}

/** A reference to the one thread of this process that works on hostile text. */
export interface ThreadReference {
  ask<Answer>(job: ThreadJob, budgetMs: number): Promise<Answer>
  /** The thread ends with the last reference. */
  release(): Promise<void>
}

/** The first job starts the thread. All references share it. */
export function acquireThread(): ThreadReference {
  let isHeld = true
  shared.holds++
  return {
    async ask(job, budgetMs) {
      if (!isHeld) throw new Error('the reader of shell lines was closed')
      shared.thread ??= persistentWorker(() => new URL('./shell-thread.ts', import.meta.url), 'shell lines')
      return shared.thread.ask(job, budgetMs)
    },
    async release() {
      if (!isHeld) return
      isHeld = false
      if (--shared.holds > 0) return
      const { thread } = shared
      shared.thread = undefined
      await thread?.close()
    },
  }
}

const shared: { thread: PersistentWorker | undefined; holds: number } = { thread: undefined, holds: 0 }
