import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { mostKept, outputSink } from './command-output.ts'

export interface CapturedOutput {
  write(bytes: Uint8Array, from: 'stdout' | 'stderr'): void
  /** What was kept, after the last byte; a listener hears here what was still missing to a character. */
  end(): Pick<ExecResult, 'stdout' | 'stderr'>
}

/** Both streams of a command that runs in another world: told to a listener, or the end of them kept. */
export function captureOutput({ onOutput }: Pick<ExecOptions, 'onOutput'> = {}): CapturedOutput {
  const sinks = { stdout: outputSink(onOutput, 'stdout'), stderr: outputSink(onOutput, 'stderr') }
  return {
    write: (bytes, from) => sinks[from].take(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    end: () => ({ stdout: sinks.stdout.end(), stderr: sinks.stderr.end() }),
  }
}

/** The end of a text that somebody else kept whole. */
export function endOfText(text: string): string {
  if (text.length * 3 <= mostKept) return text
  const sink = outputSink(undefined, 'stdout')
  sink.take(Buffer.from(text))
  return sink.end()
}
