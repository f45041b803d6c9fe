import { AgentAbortedError, AgentBudgetError, AgentContextExceededError, AgentProviderError } from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { tellTurns } from './inbox.ts'
import { keepInterrupted } from './interrupted-turn.ts'
import { Draft, replyTo } from './model-attempts.ts'
import { nameFailure } from './model-failure.ts'
import { buildRequest } from './model-request.ts'
import type { ModelRequest } from './provider.ts'
import type { Reply } from './reply.ts'
import type { Run } from './run.ts'
import type { SessionTurn } from './turn.ts'
import { addUsage, noUsage } from './usage.ts'

/** One model call, inside the wrappers that there are for it. Comes back only after the reply, with all its calls, is in the log. */
export function askModel(run: Run): Promise<SessionTurn> {
  const turnId = run.newId()
  const turn = ++run.progress.turn
  const building = buildRequest(run, turnId)
  const draft = new Draft(run, turnId)
  if (run.hooks.isWrapped('model')) return askWrapped(run, turn, building, draft)
  return takeReply(run, turn, building, draft)
}

async function askWrapped(run: Run, turn: number, building: Building, draft: Draft): Promise<SessionTurn> {
  const request = await building
  let said: SessionTurn | undefined
  await run.hooks.wrap({
    kind: 'model',
    ctx: {
      ...{ run: run.facts, turnId: draft.turnId, turn, model: request.model, provider: run.provider.meta.name },
      get attempt() {
        return draft.attempt
      },
    },
    async work() {
      said = await takeReply(run, turn, request, draft)
      return { content: said.content, usage: said.usage ?? noUsage, stop: run.result.stopReason }
    },
    refused: (error) => Promise.reject(error),
  })
  return said!
}

type Building = ModelRequest | Promise<ModelRequest>

async function takeReply(run: Run, turn: number, building: Building, draft: Draft): Promise<SessionTurn> {
  const { hooks } = run
  const { turnId } = draft
  let request = building instanceof Promise ? await building : building
  if (hooks.has('turn:before')) {
    await hooks.tell('turn:before', { turnId, turn, options: { ...request, messages: [...request.messages] } })
  }

  let reply: Reply
  try {
    for (let tries = 0; ; tries++) {
      try {
        reply = await replyTo(run, request, draft)
        break
      } catch (error) {
        const mended = tries < mostMendings && (await mend(run, turnId, request, error))
        if (!mended) throw error
        request = mended.request
        await draft.retry({ attempt: draft.attempt + 1, reason: mended.reason })
      }
    }
  } catch (cause) {
    const error = nameFailure(run, cause)
    if (error instanceof AgentBudgetError && !draft.isStarted) run.progress.turn-- // what was never sent was no turn
    const interrupted = await keepInterrupted(run, request, draft)
    await draft.logDiscarded()
    const stop = error instanceof AgentAbortedError ? 'aborted' : 'error'
    const partial = draft.isStarted && { partial: draft.text }
    run.tools.counts.refresh()
    await hooks.tell('turn:after', {
      turnId,
      turn,
      usage: interrupted?.usage ?? noUsage,
      stop,
      error,
      ...partial,
      ...(interrupted && { interrupted }),
      toolCounts: run.tools.counts.snapshot,
    })
    if (interrupted) await tellTurns(run, interrupted)
    throw error
  }

  if (draft.discarded.length > 0) await draft.logDiscarded()
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
  run.progress.usage = addUsage(run.progress.usage, usage)
  run.progress.turnUsage.push(usage)
  run.result.stopReason = stop

  if (draft.text !== '' && hooks.has('stream:end')) await hooks.tell('stream:end', { turnId, text: draft.text })
  if (hooks.has('turn:after')) {
    run.tools.counts.refresh()
    await hooks.tell('turn:after', {
      turnId,
      turn,
      usage,
      stop,
      message: sessionTurn,
      sessionTurn,
      toolCounts: run.tools.counts.snapshot,
    })
  }
  if (hooks.has('usage')) await hooks.tell('usage', { turnId, turn, usage, totals: run.progress.usage })
  await tellTurns(run, sessionTurn)
  return sessionTurn
}

/** Of one request: three places, each perhaps twice, and once more to take them back when it did not help. */
const mostMendings = 7

interface Mended {
  readonly request: ModelRequest
  readonly reason: string
}

/** Asks what to do about a conversation that was refused; a new request when something was done about it. */
async function mend(run: Run, turnId: string, request: ModelRequest, error: unknown): Promise<Mended | undefined> {
  if (error instanceof AgentContextExceededError) return shrink(run, turnId, request, error)
  if (!(error instanceof AgentProviderError) || !error.refused || !run.hooks.has('request:refused')) return undefined
  const refused = { turnId, turn: run.progress.turn, request, error, refused: error.refused, retry: false }
  await run.hooks.ask('request:refused', refused)
  if (!refused.retry) return undefined
  return { request: await buildRequest(run, turnId), reason: 'what the service refused was set aside' }
}

/** Asks for a smaller request. */
async function shrink(
  run: Run,
  turnId: string,
  request: ModelRequest,
  error: AgentContextExceededError,
): Promise<Mended | undefined> {
  if (!run.hooks.has('request:overflow')) return undefined
  const overflow: HookContexts['request:overflow'] = { turnId, turn: run.progress.turn, request, error, retry: false }
  await run.hooks.ask('request:overflow', overflow)
  if (!overflow.retry) throw overflow.error
  return { request: await buildRequest(run, turnId), reason: 'the conversation was made shorter' }
}
