import type { Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { codeOf } from '../../core/errors.ts'
/** Takes bytes as they come and gives whole lines. */
export interface LineReader {
  /** The lines that end in this chunk, without what ends them. Throws `LineTooLong`. */
  take(chunk: Uint8Array): Generator<string>
}

/** A line went on for longer than anybody may send. */
export class LineTooLong extends Error {}

/** Reads lines in linear time, however they are cut; blank lines and byte order marks are nothing. What has no end is never given. */
export function createLineReader(mostBytes: number): LineReader {
  let held = Buffer.alloc(0)
  let length = 0

  function hold(piece: Buffer): void {
    if (length + piece.length > mostBytes) throw new LineTooLong(`A line is longer than ${mostBytes} bytes`)
    if (length + piece.length > held.length) {
      // Twice as much each time: a line that comes byte by byte is not copied for each of them.
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
/** One long line must not cost its memory for ever. */
const largestKept = 1024 * 1024

/** To JavaScript a byte order mark is a blank. */
function textOf(bytes: Buffer): string {
  return bytes.toString('utf8').trim()
}

export interface SendLineOptions {
  /** Of one message. */
  readonly lineBytes: number
  /** Of all that the server did not read yet. */
  readonly unreadBytes: number
}

/** Writes a message as a line; resolves when the system took it over. Throws why it cannot be sent, in words that follow "it". */
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
