import type { ExecOptions, ExecResult } from '../../core/execution.ts'

/** Bytes kept of each stream. */
export const mostOutput = 10 * 1024 * 1024

export interface CapturedOutput {
  write(bytes: Uint8Array, from: 'stdout' | 'stderr'): void
  /** What was kept, after the last byte; a listener hears here what was still missing to a character. */
  end(): Pick<ExecResult, 'stdout' | 'stderr'>
}

/** Tells a listener what comes, or keeps the end of it. */
export function captureOutput({ onOutput }: Pick<ExecOptions, 'onOutput'> = {}): CapturedOutput {
  if (!onOutput) {
    const tails = { stdout: tail(), stderr: tail() }
    return {
      write: (bytes, from) => tails[from].write(bytes),
      end: () => ({ stdout: tails.stdout.text(), stderr: tails.stderr.text() }),
    }
  }
  const decoders = { stdout: decoder(), stderr: decoder() }
  const tell = (text: string, from: 'stdout' | 'stderr') => {
    try {
      if (text !== '') onOutput(text, from)
    } catch {
      // a listener that fails is no reason for the command to
    }
  }
  return {
    write: (bytes, from) => tell(decoders[from].decode(bytes, { stream: true }), from),
    end() {
      for (const from of ['stdout', 'stderr'] as const) tell(decoders[from].decode(), from)
      return { stdout: '', stderr: '' }
    },
  }
}

const decoder = () => new TextDecoder('utf-8', { ignoreBOM: true })

function tail(): { write(bytes: Uint8Array): void; text(): string } {
  let chunks: Uint8Array[] = []
  let size = 0
  return {
    write(bytes) {
      chunks.push(bytes)
      size += bytes.length
      if (size <= mostOutput * 2) return
      chunks = [endOf(Buffer.concat(chunks))]
      size = chunks[0]!.length
    },
    text: () => endOf(Buffer.concat(chunks)).toString('utf8'),
  }
}

/** The last bytes, beginning with a whole character. */
function endOf(bytes: Buffer): Buffer {
  if (bytes.length <= mostOutput) return bytes
  let from = bytes.length - mostOutput
  for (let skipped = 0; skipped < 3 && (bytes[from]! & 0xc0) === 0x80; skipped++) from++
  return bytes.subarray(from)
}

/** The end of a text that somebody else kept whole. */
export function endOfText(text: string): string {
  return text.length * 3 <= mostOutput ? text : endOf(Buffer.from(text)).toString('utf8')
}
