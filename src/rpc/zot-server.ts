import type { RpcHost } from './host.ts'
import { type Envelope, readEnvelope } from './read-command.ts'
import { LineTooLongError, readLines } from './read-lines.ts'
import { type LineWriter, mostUnread, type Output, writeLines } from './write-lines.ts'
import { zotPiece } from './zot-piece.ts'
import { ZotSession } from './zot-session.ts'

export interface ServeOptions {
  readonly host: RpcHost
  readonly input: AsyncIterable<Uint8Array>
  readonly output: Output
  /** If given and not empty, the first command must be a `hello` with it. */
  readonly token?: string | undefined
  /** Stops what is under way, forgets what waits, writes what is left, and ends. */
  readonly signal?: AbortSignal | undefined
  readonly now?: (() => number) | undefined
  /** Told what went wrong where no frame can say so; for stderr. */
  readonly report?: ((problem: string) => void) | undefined
}

/** How serving came to its end; `input_ended` is the good one. */
export interface ServeEnd {
  readonly reason: 'input_ended' | 'line_too_long' | 'input_failed' | 'invalid_token' | 'output_closed' | 'stopped'
  readonly error?: string
}

/**
 * Serves an agent over zot's protocol. When the input ends, what is under way and what waits is finished first; when
 * nobody reads any more, or somebody without the token has come, it is stopped. All frames are written before the end.
 */
export async function serveZot({ host, input, output, token, signal, now, report }: ServeOptions): Promise<ServeEnd> {
  let halt: (end: ServeEnd) => void = () => {}
  const halted = new Promise<ServeEnd>((resolve) => {
    halt = resolve
  })
  const stop = (): void => halt({ reason: 'stopped' })
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  const writer = writeLines(output, {
    pieceOf: zotPiece,
    onClosed: (error) => halt(because('output_closed', error)),
  })
  const session = new ZotSession({ host, write: (frame) => writer.write(frame), now, report })
  const client = { session, writer, token: token || undefined, isOver: false }
  const unfollow = host.follow((event) => session.hear(event))
  host.holdBack(() => writer.ready())
  try {
    const end = await Promise.race([serve(client, input), halted])
    client.isOver = true
    session.stop()
    await session.idle()
    await writer.drained()
    return end
  } finally {
    signal?.removeEventListener('abort', stop)
    unfollow()
  }
}

interface Client {
  readonly session: ZotSession
  readonly writer: LineWriter
  readonly token: string | undefined
  /** Nothing that still comes in is looked at. */
  isOver: boolean
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
  let isKnown = token === undefined
  try {
    for await (const line of readLines(input)) {
      // A client that asks and never reads the answers is not asked what else it wants.
      await writer.ready(mostUnread)
      if (client.isOver) break
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
        isKnown = true
      }
      if (isKnown) session.command(command)
      else session.refuse(command, 'auth required: send hello with token first')
    }
  } catch (error) {
    return because(error instanceof LineTooLongError ? 'line_too_long' : 'input_failed', error)
  }
  return { reason: 'input_ended' }
}

/** How long it takes depends on what was sent, and not on how much of it is right. */
function hasToken({ fields }: Envelope, token: string): boolean {
  const { token: given } = fields
  const [sent, right] = [typeof given === 'string' ? given : '', token].map((text) => new TextEncoder().encode(text))
  let difference = sent!.length ^ right!.length
  for (let i = 0; i < sent!.length; i++) difference |= sent![i]! ^ right![i % right!.length]!
  return difference === 0
}

function because(reason: ServeEnd['reason'], error: unknown): ServeEnd {
  return error instanceof Error ? { reason, error: error.message } : { reason }
}
