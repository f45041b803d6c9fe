import type { Writable } from 'node:stream'
import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { codeOf } from '../../core/errors.ts'

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
