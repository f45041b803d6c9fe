import type { Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { codeOf } from '../../core/errors.ts'

/** Turns chunks of bytes into lines. */
interface LineReader {
  /** The lines that end in this chunk, without line breaks. Throws `LineTooLong`. */
  take(chunk: Uint8Array): Generator<string>
}

export class LineTooLong extends Error {}

/** Reads lines in linear time, however the chunks are cut. Skips blank lines, byte order marks and an unfinished last line. */
export function createLineReader(mostBytes: number): LineReader {
  let held = Buffer.alloc(0)
  let length = 0

  function hold(piece: Buffer): void {
    if (length + piece.length > mostBytes) throw new LineTooLong(`A line is longer than ${mostBytes} bytes`)
    if (length + piece.length > held.length) {
      // Doubled each time, so that a line in single bytes is not copied for each byte.
      const room = Math.min(mostBytes, Math.max(smallest, 2 * (length + piece.length)))
      const larger = Buffer.allocUnsafeSlow(room)
      held.copy(larger, 0, 0, length)
      held = larger
    }
    length += piece.copy(held, length)
  }

  function release(): string {
    const line = textOf(held.subarray(0, length))
    length = 0
    if (held.length > largestKept) held = Buffer.alloc(0)
    return line
  }

  return {
    *take(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      let from = 0
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
        hold(bytes.subarray(from, end))
        from = end + 1
        const line = release()
        if (line !== '') yield line
      }
      hold(bytes.subarray(from))
    },
  }
}

const newline = 0x0a
const smallest = 4096
/** A larger buffer is released after its line. */
const largestKept = 1024 * 1024

/** `trim` also removes a byte order mark. */
function textOf(bytes: Buffer): string {
  return bytes.toString('utf8').trim()
}

interface SendLineOptions {
  /** The largest message. */
  readonly lineBytes: number
  /** The most that may wait for the server to read. */
  readonly unreadBytes: number
}

/** Writes a message as a line; resolves when the system accepted it. Throws why it cannot be sent, with "it" for the server. */
export async function sendLine(input: Writable, message: JSONRPCMessage, options: SendLineOptions): Promise<void> {
  const line = Buffer.from(`${JSON.stringify(message)}\n`)
  if (line.length > options.lineBytes)
    throw new Error(`the message has ${line.length} bytes, at most ${options.lineBytes} are possible; send less`)
  if (input.writableLength + line.length > options.unreadBytes)
    throw new Error(`it does not read what it is sent, and ${input.writableLength} bytes are waiting; start it again`)
  if (!input.writable) throw new Error('it does not read what it is sent any more; start it again')
  await new Promise<void>((resolve, reject) => {
    input.write(line, (error) => (error ? reject(new Error(reasonOf(error), { cause: error })) : resolve()))
  })
}

function reasonOf(error: Error): string {
  const code = codeOf(error)
  if (code === 'EPIPE' || code === 'ECONNRESET') return 'it does not read what it is sent any more; start it again'
  return code === 'ERR_STREAM_DESTROYED' ? 'it ended before it read this' : error.message
}
