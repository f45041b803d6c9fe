import { Writable } from 'node:stream'
import type { Io } from '../io.ts'

/**
 * Reserves stdout for frames. All other writes to it, such as a tool's `console.log`, go to stderr from now on; only a
 * program that inherits the descriptor could still write to it.
 */
export function reserveStdout({ stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>): ReservedStdout {
  const write = stdout.write.bind(stdout) as Writable['write']
  const { end } = stdout
  const elsewhere = stderr.write.bind(stderr)
  Object.assign(stdout, { write: elsewhere, end: () => stdout })
  const frames = new Writable({
    decodeStrings: true,
    write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
    writev: (chunks, done) => void write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
  })
  // Some streams report that they are closed before the first write; a pipe only at the write.
  stdout.once('error', (error) => frames.destroy(error))
  stdout.once('close', () => frames.destroy())
  return { frames, restore: () => void Object.assign(stdout, { write, end }) }
}

interface ReservedStdout {
  /** Writes to the reader. Its `error` event says that the reader is gone. */
  readonly frames: Writable
  restore(): void
}
