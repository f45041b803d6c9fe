import type { Agent } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import {
  AgentError,
  LeaseLostError,
  messageOf,
  SessionBusyError,
  SessionNotFoundError,
  SessionParkedError,
  StoreError,
} from '../core/errors.ts'
import type { Session, SessionStore, SessionSummary } from '../core/store.ts'
import { within } from '../core/waiting.ts'
import { isAnsweredBelow } from '../sessions/family.ts'
import { hasOldMailOnly, isInterrupted } from '../sessions/needs-run.ts'
import { inboxOf } from '../sessions/pending.ts'
import { recordFailure } from '../sessions/record-failure.ts'
import { loadFound } from '../sessions/session.ts'
import type { Dispatcher, Job } from './dispatcher.ts'
import type { AgentKind, FleetAgent, KindRequest } from './fleet.ts'

/** What the job of a session needs of its worker. */
export interface SessionJobContext {
  readonly store: SessionStore
  readonly dispatcher: Pick<Dispatcher, 'wake'>
  readonly kinds: Readonly<Record<string, AgentKind>>
  readonly limited: KindRequest['limited']
  readonly clock: Clock
  readonly onError: (error: Error) => void
  /** Names the worker in the errors that other writers get. */
  readonly owner: string
  /** Aborts when the worker leaves its work to others. */
  readonly signal: AbortSignal
  /** Whether the session may run in this process now. */
  admit(summary: SessionSummary): Promise<boolean>
  /** False if another session has to run alone now, since this one was admitted. */
  mayBegin(sessionId: string): boolean
  /** Called before the agent of the session runs. */
  onRun(run: SessionRun): void
}

export interface SessionRun {
  readonly session: Session
  readonly summary: SessionSummary
  leave(): Promise<void>
}

/** How long a worker that does not beat keeps its sessions. It beats three times as often. */
const leaseMs = 8000
/** The delay before looking again at a session that is held elsewhere or must run alone. */
export const againMs = 1000
/** How long a kind may take to open an agent. */
const maxOpenMs = 300_000

/** Looks at the session of a job, and runs its agent if there is something to do. */
export async function runSession(job: Job, context: SessionJobContext): Promise<void> {
  const { sessionId: id } = job
  const { store, kinds, clock, dispatcher } = context
  const summary = await store.find(id)
  if (!summary) return
  const { attention, status, tenant, kind = job.kind } = summary
  // A takeover stays urgent, however often it is put off.
  const wasUrgent = job.attempt > 1 || isInterrupted(summary)
  const wake = (inMs = 0, isUrgent = wasUrgent): Promise<void> =>
    dispatcher.wake(id, { kind, tenant: tenant ?? '', isUrgent, ...(inMs > 0 && { at: clock.now() + inMs }) })
  // The holder normally takes the inbox. Look again if it may be ending (messages remain) or dead (an earlier attempt
  // of this job lapsed).
  const lookAgain = async (): Promise<void> => {
    if (job.attempt > 1 || (await inboxOf(store, id, summary.head)).length > 0) await wake(againMs)
  }
  if (summary.isHeld) return lookAgain()
  // With no attention there is nothing to do. Mail alone starts no run while a call waits: the answer will deliver it.
  const hasReason = attention && !(status === 'waiting' && attention === 'mail')
  const wasAnsweredBelow = await isAnsweredBelow(store, summary)
  if (!hasReason && !wasAnsweredBelow) return
  const open = kinds[kind]
  if (context.signal.aborted) return wake()
  if (!open) return wake(againMs) // the job named another kind
  if (!(await context.admit(summary))) return wake(againMs, true)
  try {
    const session = await loadFound(store, summary, { leaseMs, clock, owner: context.owner })
    if (attention === 'mail' && hasOldMailOnly(session) && (await inboxOf(store, id, session.log.head)).length === 0)
      return
    const hasRun = await runAgent(session, summary, open, context)
    const { log } = session
    const wasLeft = !hasRun || log.transcript.runs.at(-1)?.status === 'left'
    // A message that came in the last moment is in the log of a run that is over.
    if (wasLeft || (log.deliverable.length > 0 && !hasOldMailOnly(session))) return wake(0, wasLeft)
    // A sub-agent may have been answered while others still worked.
    const isWaiting = log.transcript.runs.at(-1)?.status === 'suspended'
    if (isWaiting && !wasAnsweredBelow && (await isAnsweredBelow(store, { id, status: 'waiting' }))) await wake()
  } catch (error) {
    if (error instanceof SessionBusyError) return lookAgain()
    if (error instanceof SessionParkedError) return context.onError(error)
    // Deleted meanwhile, or another process goes on with it.
    if (!(error instanceof SessionNotFoundError) && !(error instanceof LeaseLostError)) throw error
  }
}

/** False if the worker leaves its work, or has to make room, before the agent has begun. */
async function runAgent(
  session: Session,
  summary: SessionSummary,
  open: AgentKind,
  { store, limited, signal, clock, mayBegin, onRun, onError }: SessionJobContext,
): Promise<boolean> {
  const { id, log } = session
  const { tenant } = summary
  const fail = async (cause: unknown): Promise<void> => {
    onError(new Error(`Session "${id}" could not be worked on: ${messageOf(cause)}`, { cause }))
    // The host's error may reveal details of its machine, so a tenant does not see it.
    await recordFailure(
      store,
      id,
      tenant === undefined ? messageOf(cause) : 'no agent could be opened for this session',
    )
  }
  let made: FleetAgent
  try {
    const opening = Promise.resolve(open({ session, summary, tenant, limited }))
    const tooLong = (): never => {
      opening.then((late) => withClose(late).close()).catch(() => {})
      throw new Error(`no agent was opened within ${maxOpenMs / 60_000} minutes`)
    }
    made = withClose(await within(maxOpenMs, opening, tooLong, clock))
  } catch (cause) {
    await fail(cause)
    return true
  }
  const runsBefore = log.transcript.runs.at(-1)?.id
  const stops = followStops(session)
  try {
    if (signal.aborted || !mayBegin(id)) return false
    onRun({ session, summary, leave: () => made.agent.leave() })
    await made.agent.run({ signal: stops.signal, hooks: { 'session:start': () => stops.obey() } })
  } catch (error) {
    if (elsewhere.some((kind) => error instanceof kind)) throw error
    if (!(error instanceof AgentError)) onError(new Error(`The run of session "${id}" failed`, { cause: error }))
    // How a run ended is in its log, unless it did not get that far.
    if (log.transcript.runs.at(-1)?.id === runsBefore) await fail(error)
  } finally {
    stops.end()
    await made.close().catch((cause) => onError(new Error(`The agent of session "${id}" did not close`, { cause })))
  }
  return true
}

/**
 * Obeys a stop that came after the session was loaded, and before its run could get the message: opening an agent takes time.
 * A message that came after the stop is worked on.
 */
function followStops({ log }: Session): { readonly signal: AbortSignal; obey(): void; end(): void } {
  const stopping = new AbortController()
  let isStopped = false
  const end = log.subscribe((entry) => {
    if (entry.type === 'input') isStopped = entry.mode === 'stop'
    if (entry.type === 'run_ended' && entry.status === 'aborted') isStopped = true
  })
  return { signal: stopping.signal, obey: () => void (isStopped && stopping.abort()), end }
}

/** These say nothing about the agent. */
const elsewhere = [SessionBusyError, SessionNotFoundError, SessionParkedError, LeaseLostError, StoreError]

const withClose = (made: Agent | FleetAgent): FleetAgent =>
  'destroy' in made ? { agent: made, close: () => made.destroy() } : made
