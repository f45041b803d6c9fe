import type { AroundModel } from './around.ts'
import { AgentAbortedError, AgentBudgetError, AgentContextExceededError, AgentProviderError } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { fireSessionTurns } from './inbox.ts'
import { logInterrupted } from './interrupted-turn.ts'
import { classifyFailure, Draft, requestReply } from './model-attempts.ts'
import { buildRequest } from './model-request.ts'
import type { ModelRequest } from './provider.ts'
import type { Reply } from './reply.ts'
import type { Run, RunFacts } from './run.ts'
import type { SessionTurn } from './turn.ts'
import { countUsage, noUsage } from './usage.ts'
import type { MaybePromise } from './waiting.ts'

/** One model call, inside the `around` handlers for model calls, if there are any. Resolves after the reply, with all its calls, is in the log. */
export function askModel(run: Run): Promise<SessionTurn> {
  const turnId = run.newId()
  const turnNumber = ++run.progress.turnNumber
  const request = buildRequest(run, turnId)
  const draft = new Draft(run, turnId)
  run.progress.openReply = draft
  return run.hooks.isWrapped('model')
    ? sendWrapped(run, turnNumber, request, draft)
    : sendRequest(run, turnNumber, request, draft)
}

async function sendWrapped(
  run: Run,
  turnNumber: number,
  pendingRequest: MaybePromise<ModelRequest>,
  draft: Draft,
): Promise<SessionTurn> {
  const request = await pendingRequest
  let replyTurn: SessionTurn | undefined
  await run.hooks.wrap({
    kind: 'model',
    ctx: new ModelCallContext(run, request, turnNumber, draft),
    async work() {
      replyTurn = await sendRequest(run, turnNumber, request, draft)
      const { content, usage = noUsage } = replyTurn
      const { responseId } = draft
      return { content, usage, stop: run.result.stopReason, ...(responseId !== undefined && { responseId }) }
    },
    ifWorkNeverStarted: (error) => Promise.reject(error),
  })
  return replyTurn!
}

/** A class, because an object literal with a getter costs several microseconds: each has a hidden class of its own. */
class ModelCallContext implements AroundModel {
  readonly run: RunFacts
  readonly turnId: string
  readonly turn: number
  readonly model: string
  readonly provider: string
  readonly request: ModelRequest
  readonly #draft: Draft

  constructor(run: Run, request: ModelRequest, turn: number, draft: Draft) {
    this.run = run.facts
    this.turnId = draft.turnId
    this.turn = turn
    this.model = request.model
    this.provider = run.provider.meta.name
    this.request = request
    this.#draft = draft
  }

  get attempt(): number {
    return this.#draft.attempt
  }
}

async function sendRequest(
  run: Run,
  turnNumber: number,
  pendingRequest: MaybePromise<ModelRequest>,
  draft: Draft,
): Promise<SessionTurn> {
  const { hooks } = run
  const { turnId } = draft
  let request = pendingRequest instanceof Promise ? await pendingRequest : pendingRequest
  if (hooks.has('turn:before')) {
    await hooks.tell('turn:before', {
      turnId,
      turn: turnNumber,
      options: { ...request, messages: [...request.messages] },
    })
  }

  let reply: Reply
  try {
    for (let repairs = 0; ; repairs++) {
      try {
        reply = await requestReply(run, request, draft)
        draft.responseId = reply.responseId
        break
      } catch (error) {
        const repaired = repairs < maxRepairs && (await repairRequest(run, turnId, request, error))
        if (!repaired) throw error
        request = repaired.request
        await draft.startAttempt({ attempt: draft.attempt + 1, reason: repaired.reason })
      }
    }
  } catch (cause) {
    throw await failTurn(run, turnNumber, request, draft, cause)
  }
  if (draft.discardedUsage.length > 0) await draft.logDiscardedUsage()
  return logReply(run, turnNumber, request, draft, reply)
}

/** Logs a complete reply as a turn and tells the hooks. */
async function logReply(
  run: Run,
  turnNumber: number,
  request: ModelRequest,
  draft: Draft,
  { content, usage, stop }: Reply,
): Promise<SessionTurn> {
  const { hooks, progress } = run
  const { turnId } = draft
  const sessionTurn: SessionTurn = {
    id: turnId,
    runId: run.id,
    role: 'assistant',
    content,
    createdAt: run.clock.now(),
    usage,
    model: request.model,
    provider: run.provider.meta.name,
  }
  await run.log.append({ type: 'turn', turn: sessionTurn, stop })
  countUsage(progress, usage)
  run.result.stopReason = stop

  if (draft.text !== '' && hooks.has('stream:end')) await hooks.tell('stream:end', { turnId, text: draft.text })
  if (hooks.has('turn:after')) {
    const { counts } = run.tools
    counts.refresh()
    const toolCounts = counts.snapshot
    await hooks.tell('turn:after', {
      turnId,
      turn: turnNumber,
      usage,
      stop,
      message: sessionTurn,
      sessionTurn,
      toolCounts,
    })
  }
  if (hooks.has('usage')) await hooks.tell('usage', { turnId, turn: turnNumber, usage, totals: progress.usage })
  await fireSessionTurns(run, sessionTurn)
  return sessionTurn
}

/** Logs what was streamed before the failure, tells the hooks and returns the error to throw. */
async function failTurn(
  run: Run,
  turnNumber: number,
  request: ModelRequest,
  draft: Draft,
  cause: unknown,
): Promise<Error> {
  const error = classifyFailure(run, cause)
  if (error instanceof AgentBudgetError && !draft.isStarted) run.progress.turnNumber-- // no reply had begun: it does not count as a turn
  const interrupted = await logInterrupted(run, request, draft)
  await draft.logDiscardedUsage()
  const { counts } = run.tools
  counts.refresh()
  await run.hooks.tell('turn:after', {
    turnId: draft.turnId,
    turn: turnNumber,
    usage: interrupted?.usage ?? noUsage,
    stop: error instanceof AgentAbortedError ? 'aborted' : 'error',
    error,
    ...(draft.isStarted && { partial: draft.text }),
    ...(interrupted && { interrupted }),
    toolCounts: counts.snapshot,
  })
  if (interrupted) await fireSessionTurns(run, interrupted)
  return error
}

/**
 * How often a refused request may be repaired in one turn. `extensions/quarantine.ts` needs seven repairs: it sets aside up
 * to three blocks, with two repairs each (it replaces the block, then hides it). If the request is still refused, the last
 * repair restores all blocks, and the run fails.
 */
const maxRepairs = 7

interface RepairedRequest {
  readonly request: ModelRequest
  readonly reason: string
}

/**
 * Asks extensions to change a conversation that the service refused. Returns the new request if an extension changed it. Throws if the
 * conversation is too long and no extension shortens it.
 */
async function repairRequest(
  run: Run,
  turnId: string,
  request: ModelRequest,
  error: unknown,
): Promise<RepairedRequest | undefined> {
  if (error instanceof AgentContextExceededError) return shortenRequest(run, turnId, request, error)
  if (!(error instanceof AgentProviderError) || !error.refused || !run.hooks.has('request:refused')) return undefined
  const { turnNumber } = run.progress
  const refused = { turnId, turn: turnNumber, request, error, refused: error.refused, retry: false }
  await run.hooks.ask('request:refused', refused)
  if (!refused.retry) return undefined
  return { request: await buildRequest(run, turnId), reason: 'what the service refused was set aside' }
}

async function shortenRequest(
  run: Run,
  turnId: string,
  request: ModelRequest,
  error: AgentContextExceededError,
): Promise<RepairedRequest | undefined> {
  if (!run.hooks.has('request:overflow')) return undefined
  const { turnNumber } = run.progress
  const overflow: HookContexts['request:overflow'] = { turnId, turn: turnNumber, request, error, retry: false }
  await run.hooks.ask('request:overflow', overflow)
  if (!overflow.retry) throw overflow.error
  return { request: await buildRequest(run, turnId), reason: 'the conversation was made shorter' }
}
