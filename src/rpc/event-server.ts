import { type AgentEvent, type DurableEvent, eventVersion } from '../events/events.ts'
import { type EventLine, lineVersion } from './event-lines.ts'
import type { RunOutcome } from './host.ts'
import { type Envelope, readEnvelope } from './read-command.ts'
import { readLines } from './read-lines.ts'
import { tooManyCommands, type Work, WorkQueue } from './work-queue.ts'
import { mostUnread, type Output, writeLines } from './write-lines.ts'

/** The agent that `serveEvents` serves. */
export interface EventsHost {
  readonly version: string
  readonly provider: string
  readonly model: string
  readonly cwd: string
  readonly session?: string
  /** The number of the last durable event. */
  readonly head: number
  /** Durable events after a number, from the log. */
  replay(after: number): Promise<readonly DurableEvent[]>
  follow(listener: (event: AgentEvent) => void): () => void
  /** Without a message it continues the session. */
  run(message: string | undefined, clientKey: string | undefined, meta?: MessageMeta): Promise<RunOutcome>
  steer(message: string, clientKey: string | undefined, meta?: MessageMeta): Promise<void>
  followUp(message: string, clientKey: string | undefined, meta?: MessageMeta): Promise<void>
  abort(): void
  /** Sends questions to `present` from now on. Returns a function that stops that. */
  attach(present: (question: OpenRequest) => void): () => void
  /** Streaming has to wait for the promise while the reader is slow. */
  applyBackpressure(isReady: () => Promise<void> | undefined): void
}

type MessageMeta = Readonly<Record<string, unknown>>

/** A question to the client. */
export interface OpenRequest {
  readonly correlationId: string
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt: number
  readonly signal: AbortSignal
  /** Throws if the question was answered elsewhere before, or for an invalid answer. */
  respond(answer: { readonly value: unknown } | { readonly reason: string }): void
}

/**
 * Serves an agent over event lines until the input has ended and the queue is empty. Resolves with the outcome of the last
 * run, `undefined` if there was none. A line that is too long, or a closed output, ends it.
 */
export async function serveEvents(options: {
  readonly host: EventsHost
  readonly input: AsyncIterable<Uint8Array>
  readonly output: Output
  /** First replays the durable events after this number. */
  readonly after?: number
  /** The first prompt, or `true` to continue the session. */
  readonly first?: string | true
  /** Aborts the current run, drops the queue, writes the remaining lines, and ends. */
  readonly signal?: AbortSignal | undefined
}): Promise<RunOutcome | undefined> {
  const { host, input, output, after, first, signal } = options
  const { promise: halted, resolve: halt } = Promise.withResolvers<void>()
  const writer = writeLines(output, { onClosed: () => stop() })
  const write = (line: EventLine): void => writer.write(line)
  const open = new Map<string, OpenRequest>()
  const work = new WorkQueue()
  let isStopped = false
  let hasRunEnded = false
  let last: RunOutcome | undefined

  function stop(): void {
    isStopped = true
    work.clear()
    host.abort()
    halt()
  }

  host.applyBackpressure(() => writer.ready())
  const { version, provider, model, cwd, session, head } = host
  write({
    type: 'hello',
    lines: lineVersion,
    events: eventVersion,
    version,
    provider,
    model,
    cwd,
    ...(session !== undefined && { session }),
    head,
  })
  for (const event of after === undefined ? [] : await host.replay(after)) {
    await writer.ready()
    write(event)
  }
  const unfollow = host.follow((event) => {
    if (event.durable && event.entry.type === 'run_ended') hasRunEnded = true
    write(event)
  })

  const detach = host.attach((asked) => {
    const { correlationId: request, kind, payload, expiresAt, signal } = asked
    open.set(request, asked)
    signal.addEventListener('abort', () => {
      open.delete(request)
      write({ type: 'request_closed', request })
    })
    write({ type: 'request', request, kind, payload, expiresAt })
  })

  /** Queues a run. Its end is reported by the `run_ended` event, or by a `not_run` line if there is none. */
  function queueRun(
    command: Pick<Envelope, 'type' | 'id'>,
    message?: string,
    clientKey?: string,
    meta?: MessageMeta,
  ): void {
    const run: Work['run'] = async ({ isAborted }) => {
      hasRunEnded = false
      last = isAborted ? aborted : await host.run(message, clientKey, meta).catch(asOutcome)
      const { type, id } = command
      const { status, error } = last
      const more = { ...(id !== undefined && { id }), ...(error !== undefined && { error }) }
      if (!hasRunEnded) write({ type: 'not_run', command: type, status, ...more })
    }
    // Commands that arrived with it, such as an abort, are read before it begins.
    const after = new Promise((resolve) => setTimeout(resolve))
    if (!work.add({ size: message?.length ?? 0, after, run })) throw new Error(tooManyCommands)
  }

  async function execute(command: Envelope): Promise<void> {
    const { type, fields } = command
    if (type === 'prompt') return queueRun(command, ...messageIn(fields))
    if (type === 'continue') return queueRun(command)
    if (type === 'steer') return host.steer(...messageIn(fields))
    if (type === 'follow_up') return host.followUp(...messageIn(fields))
    if (type === 'abort') return work.abort() ? host.abort() : undefined
    if (type !== 'answer') throw new TypeError(`unknown command; there are ${commands.join(', ')}`)
    const request = textIn(fields, 'request')
    const asked = open.get(request)
    if (!asked) throw new TypeError(`there is no open request "${request}"; it was answered, withdrawn, or never asked`)
    asked.respond('value' in fields ? { value: fields.value } : { reason: reasonIn(fields) })
  }

  async function read(): Promise<void> {
    for await (const line of readLines(input)) {
      // No more commands from a client that does not read its replies.
      await writer.ready(mostUnread)
      if (isStopped) return
      const envelope = readEnvelope(line)
      if (!envelope) continue
      if ('malformed' in envelope) {
        write({ type: 'reply', command: '', ok: false, error: `malformed json: ${envelope.malformed}` })
        continue
      }
      const { type: command, id } = envelope
      const reply = { type: 'reply' as const, command, ...(id !== undefined && { id }) }
      try {
        await execute(envelope)
        write({ ...reply, ok: true })
      } catch (error) {
        write({ ...reply, ok: false, error: messageOf(error) })
      }
    }
  }

  signal?.addEventListener('abort', stop)
  try {
    if (first === true) queueRun({ type: 'continue', id: undefined })
    else if (first !== undefined) queueRun({ type: 'prompt', id: undefined }, first)
    if (signal?.aborted) stop()
    await Promise.race([read(), halted])
  } finally {
    detach() // later questions wait in the session
    await work.idle()
    await writer.drained()
    signal?.removeEventListener('abort', stop)
    unfollow()
  }
  return last
}

const aborted: RunOutcome = { status: 'aborted', stopReason: 'aborted' }

const asOutcome = (error: unknown): RunOutcome => ({ status: 'error', stopReason: 'error', error: messageOf(error) })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const commands = ['prompt', 'continue', 'steer', 'follow_up', 'abort', 'answer']

function messageIn(fields: Envelope['fields']): Parameters<EventsHost['steer']> {
  return [textIn(fields, 'message'), keyIn(fields), metaIn(fields)]
}

function textIn(fields: Envelope['fields'], name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw new TypeError(`"${name}" must be a text that is not empty`)
  return value
}

function keyIn({ clientKey }: Envelope['fields']): string | undefined {
  if (clientKey === undefined || (typeof clientKey === 'string' && clientKey !== '')) return clientKey
  throw new TypeError('"clientKey" must be a text that is not empty')
}

/** It is JSON already; the host checks its size. */
function metaIn({ meta }: Envelope['fields']): MessageMeta | undefined {
  if (meta === undefined || (typeof meta === 'object' && meta !== null && !Array.isArray(meta)))
    return meta as MessageMeta | undefined
  throw new TypeError('"meta" must be an object')
}

function reasonIn({ reason = 'declined' }: Envelope['fields']): string {
  if (typeof reason === 'string') return reason
  throw new TypeError('"reason" must be a text')
}
