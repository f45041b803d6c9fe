import { digestOf } from '../../platform/digest.ts'
import { JobTimeout } from '../../platform/worker-threads.ts'
import { holdThread, type ThreadHold } from './hold-thread.ts'
import type { ShellReading } from './reading.ts'

export interface ShellReaderOptions {
  /** For reading one line; then it counts as not whole. */
  readonly timeoutMs?: number
  /** How many readings are remembered. */
  readonly maxCached?: number
}

/** Takes shell lines apart. */
export interface ShellReader {
  /**
   * What a line says. What cannot be read is an answer (`isWhole` is false); it rejects only when there is no thread to
   * be had, and then nothing is known about the line, not even its words.
   */
  read(text: string): Promise<ShellReading>
  close(): Promise<void>
}

/** Reads shell lines off the event loop, whatever they are, and remembers what it read. */
export function createShellReader({ timeoutMs = 1000, maxCached = 500 }: ShellReaderOptions = {}): ShellReader {
  const hold = holdThread()
  const readings = new Map<string, Promise<ShellReading>>()
  return {
    read(text) {
      // To name a long text costs more than it is worth; it is not parsed anyway.
      if (text.length > mostCached) return readIn(hold, text, timeoutMs)
      const digest = digestOf(text)
      const reading = readings.get(digest) ?? readIn(hold, text, timeoutMs)
      // The one used last goes to the end; the first is forgotten.
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
/** Taking a text apart is one pass over it; this much time means that the machine is in trouble. */
const wordsMs = 30_000

async function readIn(hold: ThreadHold, text: string, timeoutMs: number): Promise<ShellReading> {
  try {
    return await hold.ask<ShellReading>({ read: text }, timeoutMs)
  } catch (error) {
    if (!(error instanceof JobTimeout)) throw error
    const obstacle = `a line that takes longer than ${timeoutMs} ms to read`
    return await hold.ask<ShellReading>({ words: text, obstacle }, wordsMs)
  }
}
