import { isThenable, orCancelled, waitCancelled } from './cancellation.ts'
import {
  AgentAbortedError,
  AgentBudgetError,
  AgentProviderError,
  LeaseLostError,
  messageOf,
  printable,
  type Rejection,
  rejectionOf,
} from './errors.ts'
import type { HookContexts } from './hook-map.ts'
import { type HookScope, scopeOf, tier } from './hooks.ts'
import { deliveryEntry, tellDelivered, tellTurns, userTurn } from './inbox.ts'
import type { EntryBody, RunFailure, RunStatus } from './log.ts'
import { runLoop } from './loop.ts'
import { asJson } from './plain-json.ts'
import type { Extension, Run } from './run.ts'
import { abandonIfBegun } from './tool-call.ts'
import { abortedResult, syntheticResult } from './tool-result.ts'
import type { SessionContentBlock, SessionTurn } from './turn.ts'
import { type AgentStats, statsOf } from './usage.ts'

export interface RunPlan {
  /** What the user says; absent where the session has something to answer. */
  readonly prompt: readonly SessionContentBlock[] | undefined
  readonly extensions: readonly Extension[]
  /** Whatever has to be there before the first entry is logged. */
  prepare(): Promise<void>
}

/** A run from its first log entry to its last, with every ending it can have. */
export async function executeRun(run: Run, plan: RunPlan): Promise<AgentStats> {
  const { hooks, log } = run
  const begun: Beginning = { isLogged: false, from: 0, startedAt: run.clock.now() }
  hooks.abandonOn = run.cancellation
  const unlisten = run.cancellation.onCancel(() => {
    begun.stoppedAt = log.head
  })
  try {
    // Wrappers come only now: extensions may have added theirs.
    const unready = await rejectionOf(plan.prepare())
    if (!plan.prompt) noteSender(run)
    const conduct = (failure = unready): Promise<AgentStats> => conductReady(run, plan, begun, failure)
    if (!hooks.isWrapped('run')) return await conduct()
    const refused = (error: unknown): Promise<AgentStats> => conduct({ error })
    return await hooks.wrap({ kind: 'run', ctx: run.facts, work: conduct, refused })
  } finally {
    unlisten()
  }
}

async function conductReady(
  run: Run,
  plan: RunPlan,
  begun: Beginning,
  unready: Rejection | undefined,
): Promise<AgentStats> {
  const { hooks, log } = run
  const framework = scopeOf(hooks, tier.framework)
  let { status, stopReason, failure } = await outcomeOf(run, plan, framework, begun, unready)
  await Promise.allSettled(run.progress.pending)
  hooks.abandonOn = undefined // whoever hears of the end is waited for
  run.progress.isOver = true
  try {
    if (status === 'aborted') await hooks.tell('agent:abort', { runId: run.id })
    if (begun.isLogged && isStopped({ status, stopReason }))
      await abandonIfBegun(run, ...log.transcript.openCalls.map(({ id }) => id))
    if (begun.isLogged) await log.append(...ending(run, { status, stopReason, failure }, begun))
  } catch (error) {
    failure ??= error // a log that cannot be written cannot be told so
    status = stopReason = 'error'
  }
  if (begun.isLogged) log.transcript.isLive = false
  const stats = statsOf(run, status, stopReason, begun.startedAt)
  if (failure instanceof AgentAbortedError) failure.stats = stats
  await hooks.tell('agent:done', stats)
  const turnRange = [begun.from, begun.isLogged ? log.transcript.completeTurns.length : 0] as const
  await hooks.tell('session:end', { ...run.facts, status, stopReason, turnRange })
  framework.dispose()
  run.callTimer.close()
  run.cancellation.cancel(new Error('the run is over')) // whatever a tool left behind
  if (failure !== undefined) throw failure
  return stats
}

/** A run without a prompt answers the one that waits in the session, or goes on with the last one: it has the `meta` of that message. */
function noteSender(run: Run): void {
  const { inbox, log, facts } = run
  if (facts.meta) return
  const waiting = log.transcript.openTurn ? undefined : inbox.waitingAtStart()[0]
  const { meta } = waiting ?? log.transcript.turns.findLast(isMessage) ?? {}
  if (meta) run.facts = { ...facts, meta }
}

const isMessage = ({ role, content }: SessionTurn): boolean =>
  role === 'user' && content.some(({ type }) => type !== 'tool_result')

interface Beginning {
  readonly startedAt: number
  isLogged: boolean
  /** How many turns there were before. */
  from: number
  /** The log's head when somebody said stop. */
  stoppedAt?: number
}

interface Outcome {
  readonly status: RunStatus
  readonly stopReason: string
  readonly failure?: unknown
}

async function outcomeOf(
  run: Run,
  plan: RunPlan,
  framework: HookScope<HookContexts>,
  begun: Beginning,
  unready: Rejection | undefined,
): Promise<Outcome> {
  try {
    if (unready) throw unready.error
    const tell = await logBeginning(run, plan, begun)
    await run.hooks.tell('session:start', run.facts)
    try {
      for (const extension of plan.extensions) {
        const starting = extension.start?.(run, framework)
        if (isThenable(starting)) await orCancelled(Promise.resolve(starting), run.cancellation)
      }
    } finally {
      await tell() // it is in the log, whatever comes next
    }
    await readSystem(run)
    return await runLoop(run)
  } catch (error) {
    if (isOverBudget(run, error)) return closeOnBudget(run)
    const { isCancelled: stopped, reason } = run.cancellation
    // Who lost the right to write was not aborted by anybody here.
    if (stopped && reason instanceof LeaseLostError) return { status: 'error', stopReason: 'error', failure: reason }
    const failure = error === waitCancelled ? new AgentAbortedError('The run was aborted') : error
    if (failure instanceof AgentAbortedError) return { status: 'aborted', stopReason: 'aborted', failure }
    return { status: 'error', stopReason: 'error', failure }
  }
}

/** What the budget keeps for a last answer may be used now. Whether there is one, the run ends all the same. */
async function closeOnBudget({ hooks, cancellation: stop }: Run): Promise<Outcome> {
  try {
    if (!stop.isCancelled) await hooks.ask('limit:close', { turnId: '' })
  } catch {
    // The run was stopped meanwhile.
  }
  return { status: 'completed', stopReason: 'budget' }
}

/** Whether a run ended because it may use no more; then what it did until then counts, as at `maxTurns`. */
function isOverBudget({ cancellation: stop }: Run, error: unknown): boolean {
  if (error instanceof AgentBudgetError) return true
  return (error === waitCancelled || error instanceof AgentAbortedError) && stop.reason instanceof AgentBudgetError
}

/**
 * A prompt that comes while calls are open answers them: the user went on without them. Messages that an earlier run did
 * not deliver come before it, as they were said before it. Returns how to tell listeners.
 */
async function logBeginning(run: Run, plan: RunPlan, begun: Beginning): Promise<() => Promise<void>> {
  const { log, id: runId } = run
  const { model } = run.settings
  const { transcript } = log
  const { clientKey } = run.settings.options
  const isKnown = clientKey !== undefined && transcript.hasClientKey(clientKey)
  const prompt = isKnown ? undefined : plan.prompt
  if (!prompt && transcript.turns.length === 0 && transcript.inbox.length === 0)
    throw new Error('Nothing to do: there is no prompt, and the session has no turns to go on from')

  const { agent, parent, meta } = run.facts
  const who = { ...(agent !== undefined && { agent }), ...(parent && { parent }), ...(meta && { meta }) }
  const states = plan.extensions.flatMap((extension) => extension.begin?.(run) ?? [])
  const entries: EntryBody[] = [{ type: 'run_started', runId, model, ...who }, ...states]
  const waiting = prompt ? run.inbox.fromEarlierRuns() : []
  const before = transcript.turns.length
  begun.from = transcript.completeTurns.length
  if (prompt) {
    const open = transcript.openCalls.map(({ id }) => id)
    await abandonIfBegun(run, ...open)
    for (const id of open) entries.push(syntheticResult(id, 'skipped'))
    if (waiting.length > 0) entries.push(deliveryEntry(run, waiting))
    entries.push({ type: 'turn', turn: userTurn(run, prompt, meta), ...(clientKey !== undefined && { clientKey }) })
  }
  begun.isLogged = true
  transcript.isLive = true
  await log.append(...entries)
  const turns = transcript.turns.slice(before)
  return async () => {
    if (turns.length > 0) await tellTurns(run, ...turns)
    await tellDelivered(run, waiting)
  }
}

async function readSystem(run: Run): Promise<void> {
  const { system } = run.settings.options
  if (system === undefined) return
  const before = { system, runId: run.id }
  await run.hooks.ask('system:before', before)
  run.system.set('run', printable(before.system))
}

/** Whoever stops a run stops its calls: none of them waits for the next run. */
const isStopped = ({ status, stopReason }: Outcome): boolean =>
  status === 'aborted' || (status === 'completed' && stopReason === 'budget')

/** The last entries of a run. */
function ending(run: Run, outcome: Outcome, { stoppedAt }: Beginning): EntryBody[] {
  const { log, id: runId } = run
  const { status, stopReason: stop, failure } = outcome
  const output = asJson(run.result.output)
  const open = isStopped(outcome) ? log.transcript.openCalls : []
  const why = status === 'completed' ? noBudget : undefined
  const results = open.map((call) => abortedResult(log.transcript, call.id, why))
  const end: EntryBody = {
    type: 'run_ended',
    runId,
    status,
    stop,
    ...(status === 'aborted' && { stoppedAt: stoppedAt ?? log.head }),
    ...(failure !== undefined && { error: describe(failure) }),
    ...(output !== undefined && { output }),
  }
  return [...results, end]
}

const noBudget = 'Aborted: the budget was used up'

function describe(failure: unknown): RunFailure {
  const name = failure instanceof Error ? failure.name : typeof failure
  if (!(failure instanceof AgentProviderError)) return { name, message: messageOf(failure) }
  const { providerCode, retryable, message } = failure
  const code = providerCode !== undefined && { providerCode }
  return { name, message, ...code, ...(retryable !== undefined && { retryable }) }
}
