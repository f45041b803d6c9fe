import { zotFragment } from './frames.ts'
import type { RpcHost } from './host.ts'
import { type Envelope, readEnvelope } from './read-command.ts'
import { LineTooLongError, readLines } from './read-lines.ts'
import { type LineWriter, mostUnread, type Output, writeLines } from './write-lines.ts'
import { ZotSession } from './zot-session.ts'

/**
 * Serves an agent over zot's protocol. When the input ends, current and queued work is finished first; when the output is
 * closed or the token is wrong, it is aborted. All frames are written before the end. Gives why it ended; `input_ended` is
 * the normal reason.
 */
export async function serveZot(options: {
  readonly host: RpcHost
  readonly input: AsyncIterable<Uint8Array>
  readonly output: Output
  /** If not empty, the first command must be a `hello` with this token. */
  readonly token?: string | undefined
  /** Aborts the current run, drops the queue, writes the remaining frames, and ends. */
  readonly signal?: AbortSignal | undefined
  readonly now?: (() => number) | undefined
  /** Receives problems that no frame can carry; for stderr. */
  readonly report?: ((problem: string) => void) | undefined
}): Promise<{
  readonly reason: 'input_ended' | 'line_too_long' | 'input_failed' | 'invalid_token' | 'output_closed' | 'stopped'
  readonly error?: string
}> {
  const { host, input, output, token, signal, now, report } = options
  const { promise: halted, resolve: halt } = Promise.withResolvers<ServeEnd>()
  const stop = (): void => halt({ reason: 'stopped' })
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  const writer = writeLines(output, {
    fragmentOf: zotFragment,
    onClosed: (error) => halt(endOf('output_closed', error)),
  })
  const session = new ZotSession({ host, write: (frame) => writer.write(frame), now, report })
  const client = { session, writer, token: token || undefined, isStopped: false }
  const unfollow = host.follow((event) => session.handleEvent(event))
  host.applyBackpressure(() => writer.ready())
  try {
    const end = await Promise.race([serve(client, input), halted])
    client.isStopped = true
    session.stop()
    await session.idle()
    await writer.drained()
    return end
  } finally {
    signal?.removeEventListener('abort', stop)
    unfollow()
  }
}

type ServeEnd = Awaited<ReturnType<typeof serveZot>>

interface Client {
  readonly session: ZotSession
  readonly writer: LineWriter
  readonly token: string | undefined
  /** Further input is ignored. */
  isStopped: boolean
}

async function serve(client: Client, input: AsyncIterable<Uint8Array>): Promise<ServeEnd> {
  const end = await read(client, input)
  if (end.reason === 'invalid_token') return end
  await client.session.idle()
  await client.writer.drained()
  return end
}

async function read(client: Client, input: AsyncIterable<Uint8Array>): Promise<ServeEnd> {
  const { session, writer, token } = client
  let isAuthenticated = token === undefined
  try {
    for await (const line of readLines(input)) {
      // No more commands from a client that does not read its responses.
      await writer.ready(mostUnread)
      if (client.isStopped) break
      const command = readEnvelope(line)
      if (!command) continue
      if ('malformed' in command) {
        session.malformed(command.malformed)
        continue
      }
      if (token !== undefined && command.type === 'hello') {
        if (!hasToken(command, token)) {
          session.refuse(command, 'invalid token')
          return { reason: 'invalid_token', error: 'invalid token' }
        }
        isAuthenticated = true
      }
      if (isAuthenticated) session.command(command)
      else session.refuse(command, 'auth required: send hello with token first')
    }
  } catch (error) {
    return endOf(error instanceof LineTooLongError ? 'line_too_long' : 'input_failed', error)
  }
  return { reason: 'input_ended' }
}

/** Compares in a time that depends on the given token only, as `isSameSecret` does, which is not in reach here. */
function hasToken({ fields }: Envelope, token: string): boolean {
  const { token: given } = fields
  const [sent, right] = [typeof given === 'string' ? given : '', token].map((text) => new TextEncoder().encode(text))
  let difference = sent!.length ^ right!.length
  for (let i = 0; i < sent!.length; i++) difference |= sent![i]! ^ right![i % right!.length]!
  return difference === 0
}

function endOf(reason: ServeEnd['reason'], error: unknown): ServeEnd {
  return error instanceof Error ? { reason, error: error.message } : { reason }
}
