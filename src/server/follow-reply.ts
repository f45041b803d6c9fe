import { PartChunks } from '../ai-sdk/part-chunks.ts'
import { isPrompt, metadataOf, replyIdOf, rowParts } from '../ai-sdk/row-parts.ts'
import type { UIChunk, UIFinishReason, UIPart } from '../ai-sdk/ui-message.ts'
import type { EntryOf, LogEntry } from '../core/log.ts'
import type { SessionSummary } from '../core/store.ts'
import { readEvents } from '../events/read-events.ts'
import type { Row } from '../view/rows.ts'
import { emptyView, foldOnwards, type SessionView } from '../view/session-view.ts'
import { problemOf, withdrawnText } from './problem.ts'
import type { Call } from './route.ts'

export interface ReplyToFollow {
  readonly id: string
  /** The prompt is in the log after this entry, or will be. */
  readonly after: number
  /** The key of the prompt. Default: the first one after `after`. */
  readonly clientKey?: string
  /** Prompts that come later are followed too, each with its reply. */
  readonly followsAll?: true
  /** A run that ended before this entry is not the end of the reply: it goes on, because something was answered. */
  readonly goesOnAfter?: number
  /** The parts of the reply that the client has. */
  readonly has?: readonly UIPart[]
}

/**
 * The reply to a prompt as chunks of the UI message stream, from its begin: what the log has of it first, then what is
 * streamed after that. Ends when no run works on it any more; an error that ends it before stops no run.
 */
export async function* followReply(
  { request, server }: Call,
  { id, after, clientKey, followsAll, goesOnAfter = 0, has = [] }: ReplyToFollow,
): AsyncGenerator<UIChunk, void, undefined> {
  const { store, closing, options } = server
  const stall = new AbortController()
  const signal = AbortSignal.any([request.signal, closing, stall.signal])
  const head = (await store.find(id))?.head ?? 0
  const cancel = watchForStall(server, id, () => stall.abort())
  let view: SessionView = emptyView
  let reply: Reply | undefined
  let input: string | undefined
  let began = 0
  let ended: EntryOf<'run_ended'> | undefined
  try {
    const reading = { after, signal, ...(options.join && { join: options.join }) }
    for await (const event of readEvents(store, id, reading)) {
      const { committed } = view.fold
      view = foldOnwards(view, event)
      const entry = event.durable ? event.entry : undefined
      if (entry?.type === 'input' && entry.clientKey === clientKey) input = entry.id
      if (clientKey !== undefined && !reply && entry?.type === 'withdrawn' && entry.input === input)
        return yield { type: 'error', errorText: withdrawnText }
      const added = entry?.type === 'turn' ? view.rows.slice(committed, view.fold.committed) : []
      const prompt = added.findLast(isPrompt)
      if (prompt) {
        if (reply && !followsAll) return yield* reply.finish(view, 'stop')
        if (reply) yield* reply.leave(view)
        if (clientKey === undefined || delivers(entry, clientKey, input)) {
          reply = new Reply(view.fold.committed, reply ? [] : has)
          yield { type: 'start', messageId: replyIdOf(prompt) }
        }
      }
      if (entry?.type === 'run_started') {
        began = entry.seq
        ended = undefined
      }
      if (entry?.type === 'run_ended' && entry.status !== 'left') ended = entry
      // What a replay passes through is no state of its own.
      if (event.durable && event.seq < head) continue
      // It was to answer the prompt, and failed before.
      if (!reply && began > after && ended?.status === 'error') return yield failure(ended)
      if (!reply) continue
      yield* reply.update(view)
      if (!ended || ended.seq <= goesOnAfter) continue
      if (!followsAll || !hasWork(await store.find(id))) return yield* reply.end(view, ended)
    }
    if (stall.signal.aborted) yield { type: 'error', errorText: 'The message is stored, and waits for the next run' }
    if (closing.aborted) yield { type: 'error', errorText: 'This server is shutting down; a reload shows the rest' }
  } catch (error) {
    const problem = problemOf(error) // such as a session that was deleted
    if (!problem) throw error
    yield { type: 'error', errorText: problem.message }
  } finally {
    cancel()
  }
}

/** Whether a run will work on the session. A message waits until the calls before it are answered. */
export function hasWork(summary: SessionSummary | undefined): boolean {
  const { attention, status } = summary ?? {}
  return attention === 'answered' || (attention === 'mail' && status !== 'waiting')
}

/** Whether an entry brings the prompt with this key to the model. */
export function delivers(entry: LogEntry | undefined, clientKey: string, input: string | undefined): boolean {
  if (entry?.type !== 'turn') return false
  return entry.clientKey === clientKey || (input !== undefined && entry.consumed?.includes(input) === true)
}

/** The rows after a prompt. */
class Reply {
  readonly #from: number
  readonly #chunks: PartChunks

  constructor(from: number, has: readonly UIPart[]) {
    this.#from = from
    this.#chunks = new PartChunks(has)
  }

  *update(view: SessionView): Generator<UIChunk> {
    yield* this.#chunks.update(this.#rows(view).flatMap((row) => rowParts(row)))
  }

  /** Another prompt has come, whose reply is a message of its own. */
  *leave(view: SessionView): Generator<UIChunk> {
    yield* this.update(view)
    yield* this.#chunks.end()
  }

  *finish(view: SessionView, finishReason: UIFinishReason): Generator<UIChunk> {
    yield* this.leave(view)
    yield { type: 'finish', finishReason, messageMetadata: metadataOf(this.#rows(view)) }
  }

  *end(view: SessionView, { status, stop, error }: EntryOf<'run_ended'>): Generator<UIChunk> {
    if (status === 'aborted') yield { type: 'abort', reason: stop }
    if (status !== 'error')
      return yield* this.finish(view, status === 'aborted' ? 'interrupted' : reasonOf(status, stop))
    yield* this.leave(view)
    yield failure({ stop, ...(error && { error }) })
  }

  #rows({ rows }: SessionView): readonly Row[] {
    const own = rows.slice(this.#from)
    const next = own.findIndex(isPrompt)
    return next < 0 ? own : own.slice(0, next)
  }
}

const failure = ({ stop, error }: Pick<EntryOf<'run_ended'>, 'stop' | 'error'>): UIChunk => ({
  type: 'error',
  errorText: error?.message ?? `The run failed: ${stop}`,
})

function reasonOf(status: string, stop: string): UIFinishReason {
  if (status === 'suspended') return 'tool-calls'
  return finishReasons.get(stop) ?? 'other'
}

const finishReasons: ReadonlyMap<string, UIFinishReason> = new Map([
  ['end', 'stop'],
  ['length', 'length'],
  ['refusal', 'content-filter'],
])

/** How often it is checked that a session, which should be worked on, is. */
const checkEveryMs = 2000

/** Calls `onStall` if no process works on the session in two checks. Returns a function that stops the checks. */
function watchForStall({ store, work, clock }: Call['server'], id: string, onStall: () => void): () => void {
  let idle = 0
  let stop = (): void => {}
  let isOver = false
  const check = async (): Promise<void> => {
    const summary = work.has(id) ? undefined : await store.find(id).catch(() => undefined)
    idle = summary && !summary.isHeld ? idle + 1 : 0
    if (isOver) return
    if (idle > 1) onStall()
    else stop = clock.timer(checkEveryMs, () => void check())
  }
  stop = clock.timer(checkEveryMs, () => void check())
  return () => {
    isOver = true
    stop()
  }
}
