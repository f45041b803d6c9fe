import { type AgentEvent, type DurableEvent, eventVersion } from '../events/events.ts'
import { type EventLine, lineVersion } from './event-lines.ts'
import type { RunOutcome } from './host.ts'
import { type Envelope, readEnvelope } from './read-command.ts'
import { readLines } from './read-lines.ts'
import { tooMany, type Work, WorkQueue } from './work-queue.ts'
import { mostUnread, type Output, writeLines } from './write-lines.ts'

/** The agent behind the lines, as whoever serves it hands it in. */
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
  /** Without a message it goes on where the session stands. */
  run(message: string | undefined, clientKey: string | undefined): Promise<RunOutcome>
  steer(message: string, clientKey: string | undefined): Promise<void>
  followUp(message: string, clientKey: string | undefined): Promise<void>
  abort(): void
  /** From now on questions are put to `present`. Returns how it leaves. */
  attach(present: (question: Asked) => void): () => void
  /** Whatever streams waits for the promise: the reader is slow. */
  holdBack(isReady: () => Promise<void> | undefined): void
}

/** A question on its way to whoever reads the lines. */
export interface Asked {
  readonly correlationId: string
  readonly kind: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly expiresAt: number
  readonly signal: AbortSignal
  /** Throws when somebody else was faster, or for what is no answer. */
  respond(answer: { readonly value: unknown } | { readonly reason: string }): void
}

export interface ServeEventsOptions {
  readonly host: EventsHost
  readonly input: AsyncIterable<Uint8Array>
  readonly output: Output
  /** Replay what came after this durable event before anything else. */
  readonly after?: number
  /** The first thing to do: a task, or `true` to go on where the session stands. */
  readonly first?: string | true
  /** Stops what is under way, forgets what waits, writes what is left, and ends. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Speaks event lines until the input has ended and nothing is left to do. Resolves with how the last run ended,
 * `undefined` where there was none. A line that is too long, or a reader that went away, ends it.
 */
export async function serveEvents(options: ServeEventsOptions): Promise<RunOutcome | undefined> {
  const { host, input, output, after, first, signal } = options
  let halt: () => void = () => {}
  const halted = new Promise<void>((resolve) => {
    halt = resolve
  })
  const writer = writeLines(output, { onClosed: () => stop() })
  const write = (line: EventLine): void => writer.write(line)
  const open = new Map<string, Asked>()
  const work = new WorkQueue()
  let isOver = false
  let hasEnded = false
  let last: RunOutcome | undefined

  function stop(): void {
    isOver = true
    work.drop()
    host.abort()
    halt()
  }

  host.holdBack(() => writer.ready())
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
    if (event.durable && event.entry.type === 'run_ended') hasEnded = true
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

  /** Whoever asked for a run waits for its end: where the log has none to tell of, a line of its own does. */
  function later(command: Pick<Envelope, 'type' | 'id'>, message: string | undefined, clientKey?: string): void {
    const run: Work['run'] = async ({ isAborted }) => {
      hasEnded = false
      last = isAborted ? aborted : await host.run(message, clientKey).catch(asOutcome)
      const { type, id } = command
      const { status, error } = last
      const more = { ...(id !== undefined && { id }), ...(error !== undefined && { error }) }
      if (!hasEnded) write({ type: 'not_run', command: type, status, ...more })
    }
    if (!work.add({ size: message?.length ?? 0, run })) throw new Error(tooMany)
  }

  async function obey(command: Envelope): Promise<void> {
    const { type, fields } = command
    if (type === 'prompt') return later(command, textIn(fields, 'message'), keyIn(fields))
    if (type === 'continue') return later(command, undefined)
    if (type === 'steer') return host.steer(textIn(fields, 'message'), keyIn(fields))
    if (type === 'follow_up') return host.followUp(textIn(fields, 'message'), keyIn(fields))
    if (type === 'abort') return work.abort() ? host.abort() : undefined
    if (type !== 'answer') throw new TypeError(`unknown command; there are ${commands.join(', ')}`)
    const request = textIn(fields, 'request')
    const asked = open.get(request)
    if (!asked) throw new TypeError(`there is no open request "${request}"; it was answered, withdrawn, or never asked`)
    asked.respond('value' in fields ? { value: fields.value } : { reason: reasonIn(fields) })
  }

  async function read(): Promise<void> {
    for await (const line of readLines(input)) {
      // A client that asks and never reads the answers is not asked what else it wants.
      await writer.ready(mostUnread)
      if (isOver) return
      const envelope = readEnvelope(line)
      if (!envelope) continue
      if ('malformed' in envelope) {
        write({ type: 'reply', command: '', ok: false, error: `malformed json: ${envelope.malformed}` })
        continue
      }
      const { type: command, id } = envelope
      const about = { type: 'reply' as const, command, ...(id !== undefined && { id }) }
      try {
        await obey(envelope)
        write({ ...about, ok: true })
      } catch (error) {
        write({ ...about, ok: false, error: messageOf(error) })
      }
    }
  }

  signal?.addEventListener('abort', stop)
  try {
    if (first === true) later({ type: 'continue', id: undefined }, undefined)
    else if (first !== undefined) later({ type: 'prompt', id: undefined }, first)
    if (signal?.aborted) stop()
    await Promise.race([read(), halted])
  } finally {
    detach() // nobody is left who could answer: what is asked from here on waits in the session
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

function textIn(fields: Envelope['fields'], name: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || value === '') throw new TypeError(`"${name}" must be a text that is not empty`)
  return value
}

function keyIn({ clientKey }: Envelope['fields']): string | undefined {
  if (clientKey === undefined || (typeof clientKey === 'string' && clientKey !== '')) return clientKey
  throw new TypeError('"clientKey" must be a text that is not empty')
}

function reasonIn({ reason = 'declined' }: Envelope['fields']): string {
  if (typeof reason === 'string') return reason
  throw new TypeError('"reason" must be a text')
}
