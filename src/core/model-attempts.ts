import { show } from './behavior.ts'
import { orCancelled } from './cancellation.ts'
import {
  AgentAbortedError,
  AgentAuthError,
  AgentBudgetError,
  AgentContextExceededError,
  AgentError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  messageOf,
} from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import {
  type ClassifiedError,
  type EventIterator,
  type ModelEvent,
  type ModelReply,
  type ModelRequest,
  nameForModel,
} from './provider.ts'
import { CallIds, normalizeReply, type Reply } from './reply.ts'
import type { OpenReply, Run } from './run.ts'
import { originOf } from './tool.ts'
import type { TurnUsage } from './turn.ts'
import { normalizeUsage, promptUsageOf, recordUsage } from './usage.ts'
import type { MaybePromise } from './waiting.ts'

/**
 * The reply to a request. The service is asked once more if its reply is empty, and once more if the stream breaks off in the
 * middle of a reply. (No call of that reply has started by then.)
 */
export async function requestReply(run: Run, request: ModelRequest, draft: Draft): Promise<Reply> {
  let wasEmpty = false
  let wasCut = false
  for (;;) {
    if (run.cancellation.isCancelled) throw run.cancellation.reason
    // After a crash, this entry shows that a request was sent, and may have been billed.
    if (run.session)
      await run.log.append({ type: 'attempt', runId: run.id, turnId: draft.turnId, attempt: draft.attempt })
    let reply: Reply
    try {
      const streamed = await orCancelled(streamReply(run, request, draft), run.cancellation)
      const schemaOf = (tool: string) => run.tools.get(tool)?.spec.inputSchema
      reply = normalizeReply(streamed, { model: request.model, ids: draft.ids, schemaOf })
    } catch (cause) {
      draft.recordDiscardedUsage('failed attempt', (cause as { usage?: unknown } | null)?.usage, request.model)
      const error = classifyFailure(run, cause)
      const mayTryAgain = error instanceof AgentProviderError && error.retryable && draft.hasContent && !wasCut
      if (!mayTryAgain) throw error
      wasCut = true
      const code = error.providerCode !== undefined && { code: error.providerCode }
      await draft.startAttempt({ attempt: draft.attempt + 1, reason: error.message, ...code })
      continue
    }
    if (reply.content.length > 0) return reply
    draft.recordDiscardedUsage('empty reply', reply.usage, request.model)
    if (reply.stop === 'refusal') throw providerError(run, 'the model refused to answer', { providerCode: 'refusal' })
    if (reply.stop === 'length' && reply.usage.output === 0)
      throw providerError(run, 'there is no room left for an answer', { kind: 'context_exceeded', retryable: false })
    if (wasEmpty)
      throw providerError(run, 'the model sent an empty reply twice', { providerCode: 'empty_reply', retryable: true })
    wasEmpty = true
    await draft.startAttempt({ attempt: draft.attempt + 1, reason: 'the reply was empty', code: 'empty_reply' })
  }
}

type NextAttempt = Omit<HookContexts['stream:retry'], 'turnId'>

interface StreamedCall {
  readonly callId: string
  readonly name: string
  args: string
}

const noCalls: StreamedCall[] = []

/** The reply as it is streamed. Its text becomes a turn only if the reply is interrupted and not retried. */
export class Draft implements OpenReply {
  text = ''
  thinking = ''
  /** The argument texts of all calls. */
  args = ''
  calls = noCalls
  /** The usage that the service reported when it accepted the request. */
  promptUsage: TurnUsage | undefined
  /** The service's own id of the complete reply. */
  responseId: string | undefined
  attempt = 1
  isStarted = false
  /** The present attempt has streamed something. */
  hasContent = false
  /** Usage of empty replies and failed attempts. Logged after streaming, so that a failing log is not taken for a provider error. */
  readonly discardedUsage: { readonly cause: string; readonly usage: TurnUsage }[] = []
  readonly turnId: string
  readonly ids: CallIds
  readonly #run: Run
  #hasReportedUsage = false

  constructor(run: Run, turnId: string) {
    this.#run = run
    this.turnId = turnId
    this.ids = new CallIds((id) => run.log.transcript.mayHaveCall(id), run.newId)
  }

  addCall(callId: string, name: string): void {
    if (this.calls === noCalls) this.calls = []
    this.calls.push({ callId, name, args: '' })
  }

  addArgs(callId: string, delta: string): void {
    this.args += delta
    const last = this.calls.at(-1)
    const call = last?.callId === callId ? last : this.calls.findLast((one) => one.callId === callId)
    if (call) call.args += delta
  }

  recordDiscardedUsage(cause: string, usage: unknown, model: string): void {
    this.#hasReportedUsage = typeof usage === 'object' && usage !== null
    if (this.#hasReportedUsage) this.discardedUsage.push({ cause, usage: normalizeUsage(usage as object, model) })
  }

  /** Whether the usage of the present attempt is counted elsewhere: the error reported it, or an extension counts it. */
  get isUsageRecorded(): boolean {
    return this.#hasReportedUsage || this.#run.progress.areFailuresCounted
  }

  async logDiscardedUsage(): Promise<void> {
    for (const { cause, usage } of this.discardedUsage.splice(0))
      await recordUsage(this.#run, this.turnId, cause, usage)
  }

  /** Forgets what the last attempt streamed, and tells listeners that it is void. */
  startAttempt({ attempt, reason, code, delayMs }: NextAttempt): MaybePromise<void> {
    this.text = this.thinking = this.args = ''
    this.calls = noCalls
    this.promptUsage = undefined
    this.attempt = attempt
    this.hasContent = this.#hasReportedUsage = false
    this.ids.clear()
    const more = { ...(code !== undefined && { code }), ...(delayMs !== undefined && { delayMs }) }
    return this.#run.hooks.tell('stream:retry', { turnId: this.turnId, attempt, reason, ...more })
  }
}

async function streamReply(run: Run, request: ModelRequest, draft: Draft): Promise<ModelReply> {
  const events: EventIterator = run.provider.stream(request, run.cancellation.signal)[Symbol.asyncIterator]()
  try {
    for (;;) {
      let event = events.take?.()
      if (event === undefined) {
        const { done, value } = await events.next()
        if (done) throw new Error('the stream ended before the reply was complete')
        event = value
      }
      if (run.cancellation.isCancelled) throw run.cancellation.reason
      if (event?.type === 'reply') {
        run.progress.firstTokenAt ??= run.clock.now()
        return event
      }
      const wait = handleEvent(run, event, draft, request.model)
      if (wait) await wait // most deltas have no listener, or only listeners that answer at once
    }
  } finally {
    closeStream(events)
  }
}

/** Not awaited: a complete reply must not depend on the provider's cleanup. */
function closeStream(events: AsyncIterator<ModelEvent>): void {
  try {
    events.return?.().then(undefined, () => {})
  } catch {
    // a failing cleanup does not matter any more
  }
}

function handleEvent(
  run: Run,
  event: Exclude<ModelEvent, ModelReply>,
  draft: Draft,
  model: string,
): MaybePromise<void> {
  const { hooks } = run
  const { turnId, attempt } = draft
  switch (event?.type) {
    case 'text':
      run.progress.firstTokenAt ??= run.clock.now()
      draft.isStarted = draft.hasContent = true
      draft.text += deltaOf(event)
      if (!hooks.has('stream:text')) return
      return hooks.tell('stream:text', { turnId, delta: event.delta, text: draft.text, attempt })
    case 'thinking':
      run.progress.firstTokenAt ??= run.clock.now()
      draft.isStarted = draft.hasContent = true
      draft.thinking += deltaOf(event)
      if (!hooks.has('stream:thinking')) return
      return hooks.tell('stream:thinking', { turnId, delta: event.delta, text: draft.thinking, attempt })
    case 'tool_args':
      if (typeof event.delta === 'string') draft.addArgs(draft.ids.of(event.id), event.delta)
      if (!hooks.has('stream:tool:args')) return
      return hooks.tell('stream:tool:args', { turnId, callId: draft.ids.of(event.id), delta: deltaOf(event) })
    case 'tool_start': {
      run.progress.firstTokenAt ??= run.clock.now()
      draft.isStarted = draft.hasContent = true
      const callId = draft.ids.begin(event.id)
      draft.addCall(callId, event.name)
      if (!hooks.has('stream:tool:start')) return
      const displayName = nameForModel(run.provider, event.name)
      const tool = run.tools.get(event.name)
      const origin = tool && { origin: originOf(tool) }
      return hooks.tell('stream:tool:start', { turnId, callId, name: event.name, displayName, ...origin })
    }
    case 'tool_end':
      if (!hooks.has('stream:tool:end')) return
      return hooks.tell('stream:tool:end', { turnId, callId: draft.ids.of(event.id) })
    case 'start':
      draft.isStarted = true
      draft.promptUsage = promptUsageOf(event.usage, model)
      return hooks.tell('stream:start', { turnId, attempt })
    case 'alive':
      return
    case 'retry':
      // A provider counts its attempts from one at each request; here they are counted over all requests of the turn.
      return draft.startAttempt({ ...event, attempt: attempt + 1 })
    case 'repair': {
      const { type: _, ...repair } = event
      return hooks.tell('repair', { turnId, ...repair })
    }
    case 'oauth_refresh': {
      const expires = event.expires !== undefined && { expires: event.expires }
      return hooks.tell('oauth:refresh', { turnId, provider: run.provider.meta.name, ...expires })
    }
    default:
      throw new TypeError(`it yielded ${show(event)}, which is not a ModelEvent such as { type: 'text', delta }`)
  }
}

function deltaOf({ type, delta }: { type: string; delta: unknown }): string {
  if (typeof delta !== 'string') throw new TypeError(`it yielded a ${type} event whose delta is ${show(delta)}`)
  return delta
}

/** Turns any error of a model call into an `AgentError` of the class that callers can act on. */
export function classifyFailure(run: Run, cause: unknown): AgentError {
  if (cause instanceof AgentAbortedError || cause instanceof AgentBudgetError) return cause
  if (run.cancellation.reason instanceof AgentBudgetError) return run.cancellation.reason
  if (run.cancellation.isCancelled) return new AgentAbortedError('The run was aborted', { cause })
  // A log that cannot be written is not the provider's failure.
  if (run.log.isBroken && !(cause instanceof AgentError)) throw cause
  // The error has its class already.
  if (cause instanceof AgentError) return cause
  const classified = classify(run, cause)
  const message = classified?.message ?? messageOf(cause)
  if (classified?.kind === 'aborted') return new AgentAbortedError(message, { cause })
  return providerError(run, message, { cause, ...classified })
}

/** If `classifyError` itself throws, the failure stays unclassified. */
function classify({ provider }: Run, cause: unknown): ClassifiedError | null | undefined {
  try {
    return provider.classifyError?.(cause)
  } catch {
    return null
  }
}

function providerError(
  run: Run,
  why: string,
  classified: ErrorOptions & Partial<Omit<ClassifiedError, 'message'>>,
): AgentProviderError {
  const provider = run.provider.meta.name
  const { kind = 'provider_error', providerCode, retryable, refused, retryAfterMs, cause } = classified
  const options: ConstructorParameters<typeof AgentProviderError>[1] = {
    provider,
    cause,
    ...(providerCode !== undefined && { providerCode }),
    ...(retryable !== undefined && { retryable }),
    ...(refused && { refused }),
  }
  const error = new classes[kind](`Provider "${provider}" failed: ${why}`, options)
  if (error instanceof AgentRateLimitError && retryAfterMs !== undefined) error.retryAt = run.clock.now() + retryAfterMs
  return error
}

const classes: Readonly<Record<ClassifiedError['kind'], typeof AgentProviderError>> = {
  provider_error: AgentProviderError,
  context_exceeded: AgentContextExceededError,
  rate_limited: AgentRateLimitError,
  auth_failed: AgentAuthError,
  quota_exceeded: AgentQuotaError,
  aborted: AgentProviderError, // never used: `classifyFailure` handles it before
}
