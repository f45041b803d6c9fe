import { Readable, type Writable } from 'node:stream'
import { isRecord } from '../core/is-record.ts'
import { type InputLine, readLines } from '../rpc/read-lines.ts'
import type { AnyMessage, Stream } from './protocol.ts'

/** Room for a prompt with several large images. */
const longestLine = 64 * 1024 * 1024

/**
 * Messages over two byte streams, one JSON object in each line. What is no message gets an error as its answer, and reading
 * goes on: the SDK's own stream ends at a line that is too long. When the signal aborts, no write waits for a reader any more.
 */
export function lineStream(
  input: AsyncIterable<Uint8Array>,
  output: Writable,
  { maxBytes = longestLine, signal }: { readonly maxBytes?: number; readonly signal?: AbortSignal } = {},
): Stream {
  const write = (message: object): Promise<void> =>
    new Promise((resolve, reject) => {
      const end = (): void => reject(new Error('The client is gone'))
      if (signal?.aborted) return end()
      signal?.addEventListener('abort', end, { once: true })
      output.write(lineOf(message), (error) => {
        signal?.removeEventListener('abort', end)
        if (error) reject(error)
        else resolve()
      })
    })

  async function* messages(): AsyncGenerator<AnyMessage> {
    for await (const line of readLines(input, { maxBytes, longLines: 'skipped' })) {
      const read = readMessage(line)
      if (!read) continue
      if ('message' in read) yield read.message
      else await write({ jsonrpc: '2.0', id: null, error: { code: read.code, message: read.problem } })
    }
  }

  const readable = Readable.toWeb(Readable.from(messages())) as ReadableStream<AnyMessage>
  return { readable, writable: new WritableStream({ write }) }
}

type Read = { readonly message: AnyMessage } | { readonly code: number; readonly problem: string }

function readMessage(line: InputLine): Read | undefined {
  if ('problem' in line) return { code: -32700, problem: `Parse error: ${line.problem}` }
  if (line.text.trim() === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(line.text)
  } catch {
    return { code: -32700, problem: 'Parse error: the line is no JSON' }
  }
  if (!isRecord(value)) return { code: -32600, problem: 'Invalid request: a message is one JSON object' }
  return { message: value as AnyMessage } // the SDK checks it
}

/** Clients in Rust refuse a line that holds half of a surrogate pair. */
function lineOf(message: object): string {
  const text = JSON.stringify(message)
  const whole = /\\ud[89a-f]/.test(text) ? JSON.stringify(message, wellFormed) : text
  return `${whole}\n`
}

const wellFormed = (_: string, value: unknown): unknown => (typeof value === 'string' ? value.toWellFormed() : value)
