import { isLeaving, isThenable, orCancelled, waitCancelledMarker } from './cancellation.ts'
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
import { deliveryEntry, fireSessionTurns, fireSteerInject, userTurn } from './inbox.ts'
import type { EntryBody, RunFailure, RunStatus } from './log.ts'
import { runLoop } from './loop.ts'
import { traceContext } from './meta.ts'
import { asJson } from './plain-json.ts'
import type { Extension, Run } from './run.ts'
import { closeCallsOfChildAgentsIfAny } from './tool-call.ts'
import { abortedResult, skippedResult } from './tool-result.ts'
import type { SessionContentBlock, SessionTurn } from './turn.ts'
import { type AgentStats, statsOf } from './usage.ts'

export { newRun } from './run.ts'

interface RunPlan {
  /** If absent, the run continues the session: it answers open calls and delivers waiting messages. */
  readonly prompt: readonly SessionContentBlock[] | undefined
  readonly extensions: readonly Extension[]
  /** Runs before the first entry is logged. */
  prepare(): Promise<void>
}

/** Executes a run from its first log entry to its last, for every way in which it can end. */
export async function executeRun(run: Run, plan: RunPlan): Promise<AgentStats> {
  const { hooks, log } = run
  const bookkeeping: RunBookkeeping = { isLoggingStarted: false, firstTurn: 0, startedAt: run.clock.now() }
  hooks.abandonOn = run.cancellation
  const unlisten = run.cancellation.onCancel(() => {
    bookkeeping.cancelledAtSeq = log.head
  })
  try {
    // First, because it calls `warmup`, where extensions register `around` handlers.
    const prepareFailure = await rejectionOf(prepare(run, plan))
    const work = (failure = prepareFailure): Promise<AgentStats> => executePrepared(run, plan, bookkeeping, failure)
    if (!hooks.isWrapped('run')) return await work()
    // If an `around` handler fails before it calls `next`, nothing runs and nothing is logged: the hooks at the end of the run
    // are called, and the error is thrown.
    return await hooks.wrap({ kind: 'run', ctx: run.facts, work, ifWorkNeverStarted: (error) => work({ error }) })
  } finally {
    unlisten()
  }
}

async function prepare(run: Run, plan: RunPlan): Promise<void> {
  await plan.prepare()
  if (plan.prompt && !(await isPromptLogged(run))) return
  adoptMeta(run)
  recordContinuedRun(run)
}

/** Whether an earlier run has logged this prompt: its caller did not learn of that, and sends it again with the same `clientKey`. */
async function isPromptLogged({ log, settings }: Run): Promise<boolean> {
  const { clientKey } = settings.options
  return clientKey !== undefined && log.hasAccepted(clientKey)
}

/** With `earlierFailure`, of `prepare` or of an `around` handler, nothing is started or logged: only the hooks at the end of the run are called. */
async function executePrepared(
  run: Run,
  plan: RunPlan,
  bookkeeping: RunBookkeeping,
  earlierFailure: Rejection | undefined,
): Promise<AgentStats> {
  const { hooks, log } = run
  const extensionHooks = scopeOf(hooks, tier.extension)
  let { status, stopReason, failure } = await outcomeOf(run, plan, extensionHooks, bookkeeping, earlierFailure)
  await Promise.allSettled(run.progress.pending)
  hooks.abandonOn = undefined // handlers of the hooks below are waited for, even in a cancelled run
  run.progress.isOver = true
  try {
    if (status === 'aborted') await hooks.tell('agent:abort', { runId: run.id })
    if (bookkeeping.isLoggingStarted && shouldCloseOpenCalls({ status, stopReason }))
      await closeCallsOfChildAgentsIfAny(run, ...log.transcript.openCalls.map(({ id }) => id))
    if (bookkeeping.isLoggingStarted)
      await log.append(...lastEntries(run, { status, stopReason, failure }, bookkeeping))
  } catch (error) {
    // Only thrown, not logged: writing the log is what failed. The caller must learn of that, even if the run had failed before.
    if (error instanceof Error && failure !== error) error.cause ??= failure
    failure = error
    status = stopReason = 'error'
  }
  if (bookkeeping.isLoggingStarted) log.transcript.isRunActive = false // `completeTurns` now excludes a last turn with open calls
  const stats = statsOf(run, status, stopReason, bookkeeping.startedAt)
  if (failure instanceof AgentAbortedError) failure.stats = stats
  await hooks.tell('agent:done', stats)
  const turnRange = [
    bookkeeping.firstTurn,
    bookkeeping.isLoggingStarted ? log.transcript.completeTurns.length : 0,
  ] as const
  await hooks.tell('session:end', { ...run.facts, status, stopReason, turnRange })
  extensionHooks.dispose()
  run.callTimer.close()
  run.cancellation.cancel(new Error('the run is over')) // for extensions and others that still hold its signal
  if (failure !== undefined) throw failure
  return stats
}

/** A run without a new prompt answers a message of the session: the message that waits, else the last message. The run takes over the `meta` of that message. */
function adoptMeta(run: Run): void {
  const { inbox, log, facts } = run
  if (facts.meta) return
  const waiting = log.transcript.turnWithOpenCalls ? undefined : inbox.waitingAtStart()[0]
  const { meta } = waiting ?? log.transcript.findLastTurn(isMessage) ?? {}
  if (meta) run.facts = { ...facts, meta }
}

/** A run without a new prompt continues the last run, unless the last run is finished. */
function recordContinuedRun(run: Run): void {
  const last = run.log.transcript.runs.at(-1)
  // No status: there is no earlier run. If the process of the last run died, crash recovery has logged the end of that run.
  if (last?.status === undefined || last.status === 'completed' || last.status === 'aborted') return
  const { id: runId, trace, processId } = last
  const isFromElsewhere = processId !== run.session?.processId
  run.facts = { ...run.facts, continues: { runId, ...(trace !== undefined && { trace }), isFromElsewhere } }
}

const isMessage = ({ role, content }: SessionTurn): boolean =>
  role === 'user' && content.some(({ type }) => type !== 'tool_result')

interface RunBookkeeping {
  readonly startedAt: number
  isLoggingStarted: boolean
  /** The index of the run's first turn, or of an earlier turn whose calls this run answers. */
  firstTurn: number
  /** The head of the log when the run was cancelled. */
  cancelledAtSeq?: number
}

interface Outcome {
  readonly status: RunStatus
  readonly stopReason: string
  readonly failure?: unknown
}

async function outcomeOf(
  run: Run,
  plan: RunPlan,
  extensionHooks: HookScope<HookContexts>,
  bookkeeping: RunBookkeeping,
  earlierFailure: Rejection | undefined,
): Promise<Outcome> {
  try {
    if (earlierFailure) throw earlierFailure.error
    const tellFirstTurns = await logRunStart(run, plan, bookkeeping)
    await run.hooks.tell('session:start', run.facts)
    try {
      for (const extension of plan.extensions) {
        const starting = extension.start?.(run, extensionHooks)
        if (isThenable(starting)) await orCancelled(Promise.resolve(starting), run.cancellation)
      }
    } finally {
      await tellFirstTurns() // even if an extension fails: the turns are in the log
    }
    await resolveSystemPrompt(run)
    return await runLoop(run)
  } catch (error) {
    if (isOverBudget(run, error)) return closeOnBudget(run)
    if (isLeaving(run)) return { status: 'left', stopReason: 'left' }
    const { isCancelled, reason } = run.cancellation
    // The loss of the lease cancels the run, but it is an error, not an abort.
    if (isCancelled && reason instanceof LeaseLostError)
      return { status: 'error', stopReason: 'error', failure: reason }
    const failure = error === waitCancelledMarker ? new AgentAbortedError('The run was aborted') : error
    if (failure instanceof AgentAbortedError) return { status: 'aborted', stopReason: 'aborted', failure }
    return { status: 'error', stopReason: 'error', failure }
  }
}

/** The budget is used up. Extensions may spend the part that was held back for one last answer. The run ends either way. */
async function closeOnBudget({ hooks, cancellation }: Run): Promise<Outcome> {
  try {
    if (!cancellation.isCancelled) await hooks.ask('limit:close', { turnId: '' })
  } catch {
    // the run was cancelled meanwhile
  }
  return { status: 'completed', stopReason: 'budget' }
}

/** Whether the budget ended the run. Its status is `completed`, not `error`, as for a run that reached `maxTurns`. */
function isOverBudget({ cancellation }: Run, error: unknown): boolean {
  if (error instanceof AgentBudgetError) return true
  return (
    (error === waitCancelledMarker || error instanceof AgentAbortedError) &&
    cancellation.reason instanceof AgentBudgetError
  )
}

/**
 * Logs the first entries of a run. If there is a prompt, open calls get a 'skipped' result.
 * Messages that an earlier run did not deliver come before the prompt. Returns a function that tells the hooks about these
 * turns and messages.
 */
async function logRunStart(run: Run, plan: RunPlan, bookkeeping: RunBookkeeping): Promise<() => Promise<void>> {
  const { log, id: runId } = run
  const { model } = run.settings
  const { transcript } = log
  const { clientKey } = run.settings.options
  const prompt = (await isPromptLogged(run)) ? undefined : plan.prompt
  if (!prompt && transcript.turns.length === 0 && transcript.inbox.length === 0)
    throw new Error('Nothing to do: the session has no turns to go on from; pass a prompt: agent.run({ prompt })')

  const stateEntries = plan.extensions.flatMap((extension) => extension.stateEntries?.(run) ?? [])
  const { agent, parent, meta, unconfined } = run.facts
  const processId = run.session?.processId
  const { traceparent: trace } = traceContext()
  const startFields = {
    ...(agent !== undefined && { agent }),
    ...(parent && { parent }),
    ...(meta && { meta }),
    ...(processId !== undefined && { processId }),
    ...(unconfined !== undefined && { unconfined }),
    ...(trace !== undefined && { trace }),
  }
  const entries: EntryBody[] = [{ type: 'run_started', runId, model, ...startFields }, ...stateEntries]
  let waiting: ReturnType<typeof run.inbox.fromEarlierRuns> = []
  const turnsBefore = transcript.turns.length
  bookkeeping.firstTurn = transcript.completeTurns.length
  if (prompt) {
    const open = transcript.openCalls.map(({ id }) => id)
    await closeCallsOfChildAgentsIfAny(run, ...open)
    for (const id of open) entries.push(skippedResult(transcript, id))
    // Read the inbox only now, with no `await` before the append below: during an await a message could be withdrawn.
    waiting = run.inbox.fromEarlierRuns()
    if (waiting.length > 0) entries.push(deliveryEntry(run, waiting))
    entries.push({ type: 'turn', turn: userTurn(run, prompt, meta), ...(clientKey !== undefined && { clientKey }) })
  }
  bookkeeping.isLoggingStarted = true
  transcript.isRunActive = true
  await log.append(...entries)
  const turns = transcript.turns.slice(turnsBefore)
  return async () => {
    if (turns.length > 0) await fireSessionTurns(run, ...turns)
    await fireSteerInject(run, waiting)
  }
}

async function resolveSystemPrompt(run: Run): Promise<void> {
  const { system } = run.settings.options
  if (system === undefined) return
  const before = { system, runId: run.id }
  await run.hooks.ask('system:before', before)
  run.system.set('run', printable(before.system))
}

/** Whether the open calls of the run get results at its end, rather than stay open for the next run. */
const shouldCloseOpenCalls = ({ status, stopReason }: Outcome): boolean =>
  status === 'aborted' || (status === 'completed' && stopReason === 'budget')

function lastEntries(run: Run, outcome: Outcome, { cancelledAtSeq }: RunBookkeeping): EntryBody[] {
  const { log, id: runId } = run
  const { status, stopReason: stop, failure } = outcome
  const output = asJson(run.result.output)
  const open = shouldCloseOpenCalls(outcome) ? log.transcript.openCalls : []
  const why = status === 'completed' ? budgetUsedUpText : undefined
  const results = open.map((call) => abortedResult(log.transcript, call.id, why))
  const end: EntryBody = {
    type: 'run_ended',
    runId,
    status,
    stop,
    ...(status === 'aborted' && { stoppedAt: cancelledAtSeq ?? log.head }),
    ...(failure !== undefined && { error: describe(failure) }),
    ...(output !== undefined && { output }),
  }
  return [...results, end]
}

const budgetUsedUpText = 'Aborted: the budget was used up'

function describe(failure: unknown): RunFailure {
  const name = failure instanceof Error ? failure.name : typeof failure
  if (!(failure instanceof AgentProviderError)) return { name, message: messageOf(failure) }
  const { providerCode, retryable, message } = failure
  const code = providerCode !== undefined && { providerCode }
  return { name, message, ...code, ...(retryable !== undefined && { retryable }) }
}
