import type { Authority } from '../authority/authority.ts'
import type { Agent } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import { AgentError, messageOf, SessionBusyError, SessionNotFoundError, SessionParkedError } from '../core/errors.ts'
import type { Session, SessionStore, SessionSummary } from '../core/store.ts'
import { isAnsweredBelow, rootOf } from '../sessions/family.ts'
import { needsRun } from '../sessions/needs-run.ts'
import { recordFailure } from '../sessions/record-failure.ts'
import { loadSession } from '../sessions/session.ts'
import { closingDown, Problem, retryAfter } from './problem.ts'
import type { SessionSettings } from './session-settings.ts'

/** An agent for one session, with what belongs to it. */
export interface ServedAgent {
  readonly agent: Pick<Agent, 'run' | 'abort' | 'leave' | 'execution'>
  /** With it, a client may change the mode of the run under way. */
  readonly authority?: Pick<Authority, 'mode' | 'setMode'>
  /** Activates a skill in the run under way. */
  activateSkill?(name: string): Promise<void>
  /** Replaces the older part of the conversation by a summary, and resolves with it. Called instead of `agent.run`. */
  compact?(): Promise<string>
  close(): Promise<void>
}

/** The session that an agent is wanted for. */
export interface AgentForRequest {
  readonly session: Session
  readonly summary: SessionSummary
  readonly tenant: string | undefined
  /** What clients chose for this session. The host decides what of it counts. */
  readonly settings: SessionSettings
  /** The skills that the messages which wait ask for. */
  readonly skills: readonly string[]
}

interface SessionWorkOptions {
  readonly store: SessionStore
  readonly agentFor: (request: Omit<AgentForRequest, 'settings' | 'skills'>) => Promise<ServedAgent>
  /** Whether the server continues a session that needs attention and that no client has just sent something to. */
  readonly mayContinue: (summary: SessionSummary) => boolean | Promise<boolean>
  readonly limits: { readonly runs: number; readonly waitingRuns: number }
  readonly clock: Clock
  readonly onError: (error: Error) => void
  /** Called when a session begins or ends to work here. */
  readonly onChange: () => void
  /** Runs all sessions instead of this process. */
  readonly fleet?: ServerFleet | undefined
}

/** Runs sessions in other processes: `createFleet` of `libero/durable`. */
export interface ServerFleet {
  /** The kinds of sessions that its workers run; the first is that of sessions for which a client names none. */
  readonly kinds?: readonly string[]
  /** Asks a worker to look at a session. */
  wake(sessionId: string): Promise<void>
  /** Stops the run of a session, wherever it runs. */
  stop(sessionId: string): Promise<void>
}

export type AuthorityFor = (tenant: string | undefined) => Promise<Authority>

/** How often sessions are looked for that need attention: their process died, or a message came from another one. */
const lookEveryMs = 10_000

/** When a message is checked again that was left to another process: that may be about to end. */
const recheckAfterMs = [100, 250, 500, 1000, 2000, 4000, 8000]

/** Runs the sessions that have something to do: a message, an answer, work that a dead process left. */
export class SessionWork {
  readonly #options: SessionWorkOptions
  readonly #jobs = new Map<string, Job>()
  /** Jobs that wait until their tenant has fewer runs. */
  #waiting: Job[] = []
  readonly #rechecks = new Map<string, () => void>()
  /** Sessions that needed attention at the last look, and what was known of them. */
  #seen: ReadonlyMap<string, string> = new Map()
  #stopLooking: (() => void) | undefined
  #isClosed = false

  constructor(options: SessionWorkOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#jobs.size - this.#waiting.length
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Whether the session is worked on here, or waits for its turn. */
  has(id: string): boolean {
    return this.#jobs.has(id)
  }

  isWorking(id: string): boolean {
    return this.#jobs.get(id)?.served !== undefined
  }

  /** The session as the run here has it open, so that it can be written during the run. */
  session(id: string): Session | undefined {
    return this.#jobs.get(id)?.session
  }

  /** The agent that works on a session here, or is about to. */
  async served(id: string): Promise<ServedAgent | undefined> {
    return this.#jobs.get(id)?.opening?.catch(() => undefined)
  }

  /** Does something with the agent of a session on which nothing runs. Throws a problem if a run is under way. */
  withAgent<Result>(
    summary: SessionSummary,
    tenant: string | undefined,
    work: (served: ServedAgent) => Promise<Result>,
  ): Promise<Result> {
    if (this.has(summary.id) || summary.isHeld)
      throw new Problem(423, 'session_busy', 'A run of this session is under way; wait for its end, or stop it')
    return this.whileIdle(summary.id, tenant, async (job) => {
      const served = await this.#openAgent(job, summary)
      try {
        if (this.#isClosed) throw closingDown()
        if (job.isStopped) throw new Problem(409, 'stopped', 'This was stopped before it began; send it again')
        return await work(served)
      } finally {
        delete job.served
        delete job.session
        await served.close()
      }
    })
  }

  /** Does something with a session of which `has` is false. No run is begun here meanwhile; what comes is worked on after it. */
  async whileIdle<Result>(
    id: string,
    tenant: string | undefined,
    work: (job: Job) => Promise<Result>,
  ): Promise<Result> {
    const job: Job = { id, tenant, isAgain: false }
    this.#jobs.set(id, job)
    const working = work(job)
    job.done = working.then(
      () => this.#over(job),
      () => this.#over(job),
    )
    return working
  }

  /** Throws if the tenant has so many runs that no further message is taken. */
  checkRoom(id: string, tenant: string | undefined): void {
    if (this.#jobs.has(id)) return
    const waiting = this.#waiting.filter((job) => job.tenant === tenant).length
    const { waitingRuns } = this.#options.limits
    if (waiting >= waitingRuns)
      throw new Problem(
        429,
        'too_many_runs',
        `${waitingRuns} sessions wait for their turn already; send this later`,
        retryAfter(10),
      )
  }

  /** Sees to it that what waits in the session is worked on, here or by the process that has the session. */
  wake(id: string, tenant: string | undefined): void {
    if (this.#isClosed) return
    const { fleet, onError } = this.#options
    if (fleet) {
      // If it fails, the workers find the session all the same, a little later.
      fleet.wake(id).catch((cause) => onError(new Error(`No worker was told of session "${id}"`, { cause })))
      return
    }
    const known = this.#jobs.get(id)
    if (known) {
      known.isAgain = true
      known.isStopped = false
      return
    }
    const job: Job = { id, tenant, isAgain: true }
    this.#jobs.set(id, job)
    if (this.#runningOf(tenant) > this.#options.limits.runs) this.#waiting.push(job)
    else void this.#work(job)
  }

  /** Stops the run of a session here. False if none runs here. */
  stop(id: string): boolean {
    const job = this.#jobs.get(id)
    if (!job) return false
    job.isAgain = false
    job.isStopped = true
    job.served?.agent.abort()
    return true
  }

  /** Looks for sessions that need attention, now and every ten seconds. */
  async start(): Promise<void> {
    const { clock, onError, fleet } = this.#options
    if (fleet) return // its workers look
    try {
      await this.#look()
    } catch (cause) {
      onError(new Error('The server could not look for sessions that need attention; it tries again', { cause }))
    }
    if (this.#isClosed) return
    this.#stopLooking?.()
    this.#stopLooking = clock.timer(lookEveryMs, () => void this.start())
  }

  /** Leaves all runs, so that another process, or the next start, continues them. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopLooking?.()
    for (const cancel of this.#rechecks.values()) cancel()
    const jobs = [...this.#jobs.values()]
    await Promise.allSettled(jobs.map((job) => job.served?.agent.leave()))
    await Promise.allSettled(jobs.map((job) => job.done))
  }

  async #look(): Promise<void> {
    const { store, mayContinue } = this.#options
    const seen = new Map<string, string>()
    for (let cursor: string | undefined; ; ) {
      const page = await store.list({ attention: true, limit: 200, ...(cursor !== undefined && { cursor }) })
      for (const summary of page.sessions) {
        const known = knownOf(summary)
        seen.set(summary.id, known)
        if (this.#seen.get(summary.id) === known) continue
        // Of sub-agents only an answer counts: everything else is known of their root.
        if (summary.parent !== undefined && summary.attention !== 'answered') continue
        const root = await rootOf(store, summary)
        if ((await mayContinue(root)) && (await needsRun(store, summary))) this.wake(root.id, root.tenant)
      }
      cursor = page.next
      if (cursor === undefined || this.#isClosed) break
    }
    this.#seen = seen
  }

  #runningOf(tenant: string | undefined): number {
    let count = 0
    for (const job of this.#jobs.values()) if (job.tenant === tenant && !this.#waiting.includes(job)) count++
    return count
  }

  #work(job: Job): Promise<void> {
    job.done = this.#workOn(job)
      .catch((error) => this.#fail(job, error))
      .finally(() => this.#over(job))
    return job.done
  }

  #over(job: Job): void {
    this.#jobs.delete(job.id)
    if (job.isAgain) this.wake(job.id, job.tenant) // something came when the work was just over
    this.#options.onChange()
    const hasRoom = this.#runningOf(job.tenant) < this.#options.limits.runs
    const next = this.#waiting.findIndex((one) => one.tenant === job.tenant)
    const [waiting] = next < 0 || !hasRoom ? [] : this.#waiting.splice(next, 1)
    if (waiting && !this.#isClosed) void this.#work(waiting)
  }

  async #workOn(job: Job): Promise<void> {
    while (job.isAgain && !this.#isClosed) {
      job.isAgain = false
      job.opening = this.#open(job)
      const served = await job.opening
      if (!served) return
      this.#options.onChange()
      try {
        if (!this.#isClosed && !job.isStopped) await served.agent.run()
      } catch (error) {
        if (error instanceof SessionBusyError) this.#recheck(job)
        // How a run ended is in its log.
        else if (!(error instanceof AgentError) || error instanceof SessionParkedError) throw error
      } finally {
        delete job.served
        delete job.session
        delete job.opening
        await served.close()
      }
    }
  }

  /** The agent for what waits in a session; undefined if there is nothing to do here. */
  async #open(job: Job): Promise<ServedAgent | undefined> {
    const summary = await this.#options.store.find(job.id)
    if (summary?.isHeld) return void this.#recheck(job)
    // Without a reason a run would only add entries. So it would while a call waits: the answer delivers messages too.
    const hasReason = summary?.attention && !(summary.status === 'waiting' && summary.attention === 'mail')
    if (!summary || !(hasReason || (await isAnsweredBelow(this.#options.store, summary)))) return undefined
    return this.#openAgent(job, summary)
  }

  async #openAgent(job: Job, summary: SessionSummary): Promise<ServedAgent> {
    const { store, agentFor } = this.#options
    const session = await loadSession(store, job.id)
    const served = await agentFor({ session, summary, tenant: job.tenant })
    job.served = served
    job.session = session
    return served
  }

  /** The process that has the session reads its messages, unless it is just ending. */
  #recheck({ id, tenant, tries = 0 }: Job): void {
    const ms = recheckAfterMs[tries]
    if (ms === undefined || this.#isClosed) return
    this.#rechecks.get(id)?.()
    const again = async (): Promise<void> => {
      this.#rechecks.delete(id)
      const summary = await this.#options.store.find(id).catch(() => undefined)
      if (!summary || this.#isClosed || this.#jobs.has(id)) return
      if (summary.isHeld) this.#recheck({ id, tenant, isAgain: true, tries: tries + 1 })
      else this.wake(id, tenant)
    }
    this.#rechecks.set(
      id,
      this.#options.clock.timer(ms, () => void again()),
    )
  }

  /** Nothing ran, so the log says why: a client that follows the session would wait for ever. */
  async #fail({ id, tenant }: Job, cause: unknown): Promise<void> {
    if (this.#isClosed || cause instanceof SessionNotFoundError) return
    const { store, onError } = this.#options
    const message = `Session "${id}" could not be worked on: ${messageOf(cause)}`
    onError(new Error(message, { cause }))
    // What the host says may be about its machine.
    const told = tenant === undefined ? messageOf(cause) : 'the server could not open an agent for this session'
    await recordFailure(store, id, told)
  }
}

const knownOf = ({ head, attention }: SessionSummary): string => `${head} ${attention}`

interface Job {
  readonly id: string
  readonly tenant: string | undefined
  /** Something came since the last look. */
  isAgain: boolean
  /** A client stopped it, perhaps while its agent was opened. */
  isStopped?: boolean
  readonly tries?: number
  /** From before the session is read, so that a change of its settings reaches the agent in any case. */
  opening?: Promise<ServedAgent | undefined>
  served?: ServedAgent
  session?: Session
  done?: Promise<void>
}
