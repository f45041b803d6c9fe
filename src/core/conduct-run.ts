import { AgentAbortedError } from './errors.ts'
import type { AgentHookMap } from './hook-map.ts'
import { type HookScope, scopeOf, tier } from './hooks.ts'
import type { EntryBody, ParentCall, RunStatus } from './log.ts'
import { runLoop } from './loop.ts'
import type { Extension, Run } from './run.ts'
import { tellTurns, userTurn } from './say.ts'
import { syntheticResult } from './synthetic-result.ts'
import type { SessionContentBlock, SessionTurn } from './turn.ts'
import { type AgentStats, statsOf } from './usage.ts'

export interface RunPlan {
  /** What the user says; absent where the session has something to answer. */
  readonly prompt: readonly SessionContentBlock[] | undefined
  readonly extensions: readonly Extension[]
  readonly parent?: ParentCall
}

/** A run from its first log entry to its last, with every ending it can have. */
export async function conductRun(run: Run, plan: RunPlan): Promise<AgentStats> {
  const { hooks, log } = run
  const startedAt = run.clock.now()
  const from = log.transcript.settledTurns.length
  const framework = scopeOf(hooks, tier.framework)
  log.transcript.isLive = true
  let { status, stopReason, failure } = await outcomeOf(run, plan, framework)
  await Promise.allSettled(run.working)
  try {
    if (status === 'aborted') await hooks.tell('agent:abort', { runId: run.id })
    const error = failure !== undefined && { error: String(failure) }
    const output = run.output !== undefined && { output: run.output }
    await log.append({ type: 'run_ended', runId: run.id, status, stop: stopReason, ...error, ...output })
  } catch (error) {
    failure ??= error // a log that cannot be written cannot be told so
    status = 'error'
  }
  log.transcript.isLive = false
  const stats = statsOf(run, stopReason, startedAt)
  if (failure instanceof AgentAbortedError) failure.stats = stats
  await hooks.tell('agent:done', stats)
  const turnRange = [from, log.transcript.settledTurns.length] as const
  await hooks.tell('session:end', { ...sessionIdOf(run), runId: run.id, status, stopReason, turnRange })
  framework.dispose()
  if (failure !== undefined) throw failure
  return stats
}

interface Outcome {
  readonly status: RunStatus
  readonly stopReason: string
  readonly failure?: unknown
}

async function outcomeOf(run: Run, plan: RunPlan, framework: HookScope<AgentHookMap>): Promise<Outcome> {
  try {
    const turn = await logBeginning(run, plan)
    for (const extension of plan.extensions) {
      const starting = extension.start?.(run, framework)
      if (starting) await starting
    }
    await announce(run, turn)
    return await runLoop(run)
  } catch (failure) {
    if (failure instanceof AgentAbortedError) return { status: 'aborted', stopReason: 'aborted', failure }
    return { status: 'error', stopReason: 'error', failure }
  }
}

/** A prompt that comes while calls are open answers them: the user went on without them. */
async function logBeginning(run: Run, { prompt, parent }: RunPlan): Promise<SessionTurn | undefined> {
  const { log, model, id: runId } = run
  const { clientKey } = run.options
  const started: EntryBody = { type: 'run_started', runId, model, ...(parent && { parent }) }
  if (!prompt) {
    await log.append(started)
    return undefined
  }
  const turn = userTurn(run, prompt)
  const skipped = log.transcript.openCalls.map((call) => syntheticResult(call.id, 'skipped'))
  await log.append(started, ...skipped, { type: 'turn', turn, ...(clientKey !== undefined && { clientKey }) })
  return turn
}

async function announce(run: Run, turn: SessionTurn | undefined): Promise<void> {
  await run.hooks.tell('session:start', { ...sessionIdOf(run), runId: run.id })
  if (turn) await tellTurns(run, turn)
  const { system } = run.options
  if (system === undefined) return
  const before = { system, runId: run.id }
  await run.hooks.ask('system:before', before)
  run.system.set('run', before.system)
}

const sessionIdOf = ({ session }: Run): { sessionId: string } | undefined => session && { sessionId: session.id }
