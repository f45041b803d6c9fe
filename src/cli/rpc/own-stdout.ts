import { Writable } from 'node:stream'
import type { Io } from '../io.ts'

/**
 * Takes stdout for frames alone. From here on whatever else writes to it, `console.log` of a tool say, reaches stderr;
 * only a program that is handed the descriptor itself could still get between.
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
  // Some say that they are closed before anybody writes; a pipe says it only then.
  stdout.once('error', (error) => frames.destroy(error))
  stdout.once('close', () => frames.destroy())
  return { frames, restore: () => void Object.assign(stdout, { write, end }) }
}

interface ReservedStdout {
  /** The way to the reader. Its `error` says that he is gone. */
  readonly frames: Writable
  restore(): void
}
