import { show } from './behavior.ts'
import { AgentAbortedError, AgentContextExceededError, AgentProviderError, messageOf } from './errors.ts'
import { buildRequest } from './model-request.ts'
import { type ClassifiedError, type ModelEvent, type ModelReply, type ModelRequest, shownName } from './provider.ts'
import { admitReply, CallIds, type Reply } from './reply.ts'
import type { Run } from './run.ts'
import { tellTurns } from './say.ts'
import { orStopped } from './stop.ts'
import type { SessionTurn, TurnUsage } from './turn.ts'
import { addUsage, noUsage, spend } from './usage.ts'

/** One model call. Comes back only after the reply, with all its calls, is in the log. */
export async function askModel(run: Run): Promise<SessionTurn> {
  const { hooks } = run
  const turnId = run.newId()
  const turn = ++run.turn
  const building = buildRequest(run, turnId)
  const request = building instanceof Promise ? await building : building
  if (hooks.has('turn:before')) {
    await hooks.tell('turn:before', { turnId, turn, options: { ...request, messages: [...request.messages] } })
  }

  const draft = new Draft(run, turnId)
  let reply: Reply
  try {
    reply = await replyOf(run, request, draft)
  } catch (cause) {
    const error = nameFailure(run, cause)
    await draft.settle()
    const stop = error instanceof AgentAbortedError ? 'aborted' : 'error'
    const partial = draft.isStarted && { partial: draft.text }
    run.counts.refresh()
    await hooks.tell('turn:after', {
      turnId,
      turn,
      usage: noUsage,
      stop,
      error,
      ...partial,
      toolCounts: run.counts.snapshot,
    })
    throw error
  }

  if (draft.wasted.length > 0) await draft.settle()
  const { content, usage, stop } = reply
  const now = run.clock.now()
  const sessionTurn: SessionTurn = {
    id: turnId,
    runId: run.id,
    role: 'assistant',
    content,
    createdAt: now,
    usage,
    model: request.model,
    provider: run.provider.meta.name,
  }
  await run.log.append({ type: 'turn', turn: sessionTurn, stop })
  run.usage = addUsage(run.usage, usage)
  run.turnUsage.push(usage)
  run.stopReason = stop

  if (draft.text !== '' && hooks.has('stream:end')) await hooks.tell('stream:end', { turnId, text: draft.text })
  if (hooks.has('turn:after')) {
    run.counts.refresh()
    await hooks.tell('turn:after', {
      turnId,
      turn,
      usage,
      stop,
      message: sessionTurn,
      sessionTurn,
      toolCounts: run.counts.snapshot,
    })
  }
  if (hooks.has('usage')) await hooks.tell('usage', { turnId, turn, usage, totals: run.usage })
  await tellTurns(run, sessionTurn)
  return sessionTurn
}

/** A service that says nothing at all is asked once more, then given up on. */
async function replyOf(run: Run, request: ModelRequest, draft: Draft): Promise<Reply> {
  for (const isLast of [false, true]) {
    if (run.stop.stopped) throw run.stop.reason
    const stream = streamReply(run, request, draft)
    const admitted = admitReply(await orStopped(stream, run.stop), request.model, draft.ids)
    const reply = admitted instanceof Promise ? await admitted : admitted
    if (reply.content.length > 0) return reply
    if (reply.stop === 'refusal') throw failure(run, 'the model refused to answer', { providerCode: 'refusal' })
    draft.wasted.push(reply.usage)
    if (!isLast) await draft.retry({ attempt: draft.attempt + 1, reason: 'the reply was empty' })
  }
  throw failure(run, 'the model sent an empty reply twice', { providerCode: 'empty_reply', retryable: true })
}

/** What was streamed so far; shown, never stored. */
class Draft {
  text = ''
  thinking = ''
  attempt = 1
  isStarted = false
  /** What empty replies cost; counted once the streaming is over, for a log that cannot be written is no provider error. */
  readonly wasted: TurnUsage[] = []
  readonly turnId: string
  readonly ids: CallIds
  readonly #run: Run

  constructor(run: Run, turnId: string) {
    this.#run = run
    this.turnId = turnId
    this.ids = new CallIds((id) => run.log.transcript.hasCall(id), run.newId)
  }

  async settle(): Promise<void> {
    for (const usage of this.wasted.splice(0)) await spend(this.#run, this.turnId, 'empty reply', usage)
  }

  retry({ attempt, reason, delayMs }: { attempt: number; reason: string; delayMs?: number }): Promise<void> | void {
    this.text = ''
    this.thinking = ''
    this.attempt = attempt
    this.ids.clear()
    const more = delayMs !== undefined && { delayMs }
    return this.#run.hooks.tell('stream:retry', { turnId: this.turnId, attempt, reason, ...more })
  }
}

async function streamReply(run: Run, request: ModelRequest, draft: Draft): Promise<ModelReply> {
  const events = run.provider.stream(request, run.stop.signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value: event } = await events.next()
      if (done || run.stop.stopped) throw new Error('the stream ended before the reply was complete')
      if (event?.type === 'reply') {
        run.firstTokenAt ??= run.clock.now()
        return event
      }
      const wait = tellEvent(run, event, draft)
      if (wait) await wait // most deltas have no listener, or one that answers at once
    }
  } finally {
    tidyUp(events)
  }
}

/** Not waited for: a reply that is complete must not depend on how its provider tidies up. */
function tidyUp(events: AsyncIterator<ModelEvent>): void {
  try {
    events.return?.().then(undefined, () => {})
  } catch {
    // it had nothing to tidy up
  }
}

function tellEvent(run: Run, event: Exclude<ModelEvent, ModelReply>, draft: Draft): Promise<void> | void {
  const { hooks } = run
  const { turnId, attempt } = draft
  switch (event?.type) {
    case 'text':
      run.firstTokenAt ??= run.clock.now()
      draft.isStarted = true
      draft.text += deltaOf(event)
      if (!hooks.has('stream:text')) return
      return hooks.tell('stream:text', { turnId, delta: event.delta, text: draft.text, attempt })
    case 'thinking':
      run.firstTokenAt ??= run.clock.now()
      draft.isStarted = true
      draft.thinking += deltaOf(event)
      if (!hooks.has('stream:thinking')) return
      return hooks.tell('stream:thinking', { turnId, delta: event.delta, text: draft.thinking, attempt })
    case 'tool_args':
      if (!hooks.has('stream:tool:args')) return
      return hooks.tell('stream:tool:args', { turnId, callId: draft.ids.of(event.id), delta: deltaOf(event) })
    case 'tool_start': {
      run.firstTokenAt ??= run.clock.now()
      draft.isStarted = true
      const callId = draft.ids.begin(event.id)
      if (!hooks.has('stream:tool:start')) return
      const displayName = shownName(run.provider, event.name)
      return hooks.tell('stream:tool:start', { turnId, callId, name: event.name, displayName })
    }
    case 'tool_end':
      if (!hooks.has('stream:tool:end')) return
      return hooks.tell('stream:tool:end', { turnId, callId: draft.ids.of(event.id) })
    case 'start':
      draft.isStarted = true
      return hooks.tell('stream:start', { turnId, attempt })
    case 'retry':
      return draft.retry(event)
    case 'oauth_refresh': {
      const expires = event.expires !== undefined && { expires: event.expires }
      return hooks.tell('oauth:refresh', { turnId, provider: run.provider.meta.name, ...expires })
    }
    default:
      throw new TypeError(`it yielded ${show(event)}, which is no ModelEvent such as { type: 'text', delta }`)
  }
}

function deltaOf({ type, delta }: { type: string; delta: unknown }): string {
  if (typeof delta !== 'string') throw new TypeError(`it yielded a ${type} event whose delta is ${show(delta)}`)
  return delta
}

/** Gives an error the class a caller can act on. */
export function nameFailure(run: Run, cause: unknown): AgentAbortedError | AgentProviderError {
  if (run.stop.stopped) return new AgentAbortedError('The run was aborted', { cause })
  if (cause instanceof AgentProviderError) return cause
  const known = classify(run, cause)
  const message = known?.message ?? messageOf(cause)
  if (known?.kind === 'aborted') return new AgentAbortedError(message, { cause })
  return failure(run, message, { cause, ...known })
}

/** A provider that fails at explaining its failure has still failed. */
function classify({ provider }: Run, cause: unknown): ClassifiedError | null | undefined {
  try {
    return provider.classifyError?.(cause)
  } catch {
    return null
  }
}

function failure(
  run: Run,
  why: string,
  known: ErrorOptions & { kind?: string; providerCode?: string; retryable?: boolean },
): AgentProviderError {
  const provider = run.provider.meta.name
  const { kind, providerCode, retryable, cause } = known
  const Kind = kind === 'context_exceeded' ? AgentContextExceededError : AgentProviderError
  const code = providerCode !== undefined && { providerCode }
  const again = retryable !== undefined && { retryable }
  return new Kind(`Provider "${provider}" failed: ${why}`, { provider, ...code, ...again, cause })
}
