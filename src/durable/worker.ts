import type { Session, SessionSummary } from '../core/store.ts'
import { isProgress } from '../core/transcript.ts'
import { sleep, within } from '../core/waiting.ts'
import { thisProcessId } from '../sessions/leased-log.ts'
import type { Job } from './dispatcher.ts'
import type { FleetOptions, KindRequest, Worker, WorkerStatus, WorkOptions } from './fleet.ts'
import type { FleetJobContext, FleetWork, FleetWorkContext } from './fleet-work.ts'
import { type OtherJob, Quarantine } from './quarantine.ts'
import { Reconciler } from './reconciler.ts'
import { againMs, runSession, type SessionRun } from './run-session.ts'
import { Waits } from './waits.ts'
import type { WorkerDirectory } from './worker-directory.ts'

/** What a worker gets of its fleet. */
export interface WorkerParts
  extends Required<Pick<FleetOptions, 'store' | 'dispatcher' | 'kinds' | 'clock' | 'onError'>> {
  readonly options: WorkOptions
  readonly limits: NonNullable<FleetOptions['limits']>
  readonly works: readonly FleetWork[]
  readonly version: string
  readonly directory: WorkerDirectory
  readonly limited: KindRequest['limited']
  /** Wakes a session that needs attention, with the kind that it has. */
  readonly wake: (summary: SessionSummary) => Promise<void>
  readonly kindOf: (summary: SessionSummary) => string | undefined
  readonly onClosed: () => void
}

/** A job that is worked on. */
interface Running {
  readonly job: Job
  run?: SessionRun
  isLeft?: true
  done: Promise<void>
}

/** The polling interval, in case a wake is lost. */
const pollMs = 2000
const beatMs = 5000
/** While jobs run, settling and claiming are batched over this time. */
const batchMs = 20
/** How long runs that were left may take to end; a tool may ignore that it was cancelled. */
const leaveMs = 10_000

/** Runs the sessions that have something to do, as many at once as it has slots. */
export class FleetWorker implements Worker {
  readonly id: string = crypto.randomUUID()
  readonly #parts: WorkerParts
  readonly #kinds: readonly string[]
  readonly #slots: number
  readonly #running = new Set<Running>()
  readonly #settling: Job[] = []
  readonly #leaving = new AbortController()
  readonly #delays = new AbortController()
  readonly #timers = new Set<() => void>()
  readonly #context: FleetWorkContext
  readonly #reconciler: Reconciler
  readonly #quarantine: Quarantine
  readonly #waits = new Waits()
  readonly #counts = { claimed: 0, done: 0, runs: 0, takeovers: 0, failures: 0, left: 0 }
  readonly #startedAt: number
  #state: WorkerStatus['state'] = 'working'
  #isPassWanted = false
  #isPassing = false
  #passing: Promise<void> = Promise.resolve()
  #draining: Promise<void> | undefined
  #announcing: Promise<void> = Promise.resolve()

  constructor(parts: WorkerParts) {
    const { store, dispatcher, clock, onError, options, kinds, works } = parts
    this.#parts = parts
    this.#slots = options.concurrency ?? 20
    this.#kinds = [...(options.kinds ?? Object.keys(kinds)), ...works.map(({ kind }) => kind)]
    this.#startedAt = clock.now()
    this.#context = { worker: this.id, store, dispatcher, clock, onError, signal: this.#leaving.signal }
    this.#quarantine = new Quarantine({ clock, onChange: () => this.#settleAndClaim() })
    this.#reconciler = new Reconciler({
      ...{ store, clock, onError },
      isFull: () => this.#free() === 0,
      isOwn: (summary) => this.#kinds.includes(parts.kindOf(summary) ?? '') && !this.#worksOn(summary.id),
      wake: (summary) => parts.wake(summary),
      alsoLook: () => this.#reconcileWorks(),
    })
    const stopListening = dispatcher.onWake?.(() => this.#settleAndClaim())
    if (stopListening) this.#timers.add(stopListening)
    this.#every(pollMs, async () => this.#settleAndClaim())
    this.#every(dispatcher.extendEveryMs, () => this.#extend())
    this.#every(beatMs, () => this.#announce())
    this.#announce()
    this.#reconciler.start()
    this.#settleAndClaim()
  }

  session(sessionId: string): Session | undefined {
    for (const { run } of this.#running) if (run?.session.id === sessionId) return run.session
    return undefined
  }

  status(): WorkerStatus {
    const { alone } = this.#quarantine
    return {
      ...{ state: this.#state, running: this.#running.size, concurrency: this.#slots, ...this.#counts },
      ...(alone !== undefined && { alone }),
      waits: this.#waits.histogram,
    }
  }

  drain({ graceMs = 30_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    return (this.#draining ??= this.#drain(graceMs))
  }

  close(): Promise<void> {
    this.#delays.abort()
    return this.drain({ graceMs: 0 })
  }

  async #drain(graceMs: number): Promise<void> {
    const { clock, works, directory, onError } = this.#parts
    this.#state = 'draining'
    this.#announce()
    const looking = this.#reconciler.stop() // it may be in the middle of a look at a store that does not answer
    if (graceMs > 0) await Promise.race([this.#allDone(), sleep(graceMs, { clock, signals: [this.#delays.signal] })])
    this.#leaving.abort()
    for (const running of this.#running) this.#leave(running)
    const stopping = Promise.allSettled(works.map((work) => work.stop?.(this.#context)))
    // A claim may be under way: its jobs are given back, which needs the queue.
    const allDone = this.#passing.then(() => this.#allDone())
    await within(leaveMs, Promise.all([allDone, stopping, looking]), () => undefined, clock)
    this.#delays.abort()
    this.#settleAndClaim()
    await this.#passing
    for (const cancel of this.#timers) cancel()
    this.#state = 'closed'
    await this.#announcing
    await directory.remove(this.id).catch((cause) => onError(new Error('The worker is still listed', { cause })))
    this.#parts.onClosed()
  }

  #leave(running: Running): void {
    const { run, isLeft } = running
    if (!run) return
    if (!isLeft) this.#counts.left++ // the quarantine may have left it before
    running.isLeft = true
    run.leave().catch((cause) => this.#parts.onError(new Error(`A run of ${run.session.id} was not left`, { cause })))
  }

  async #allDone(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running].map(({ done }) => done))
  }

  #free(): number {
    return this.#state === 'working' && this.#quarantine.alone === undefined ? this.#slots - this.#running.size : 0
  }

  /** Settles and claims jobs. Calls made while a pass runs cause just one more pass. */
  #settleAndClaim(): void {
    this.#isPassWanted = true
    if (this.#isPassing) return
    this.#isPassing = true
    this.#passing = this.#runPasses()
  }

  async #runPasses(): Promise<void> {
    const { dispatcher, limits, onError } = this.#parts
    try {
      while (this.#isPassWanted) {
        this.#isPassWanted = false
        const settled = this.#settling.splice(0)
        if (settled.length > 0)
          await dispatcher.settle(settled).catch((error) => {
            this.#settling.push(...settled)
            throw error
          })
        const free = this.#free()
        if (free <= 0) continue
        const claim = { kinds: this.#kinds, tenantLimits: limits.tenants ?? {} }
        for (const job of await dispatcher.claim(free, claim)) this.#start(job)
        if (this.#running.size > 0) await sleep(batchMs, { signals: [this.#delays.signal] })
      }
    } catch (cause) {
      onError(new Error('The worker could not claim or settle jobs; it tries again', { cause }))
    } finally {
      this.#isPassing = false // at once: a call in the next moment must begin a pass
    }
  }

  #start(job: Job): void {
    this.#counts.claimed++
    const waitMs = Math.max(0, this.#parts.clock.now() - job.dueAt)
    this.#waits.add(waitMs)
    try {
      this.#parts.options.onWait?.(waitMs)
    } catch (cause) {
      this.#parts.onError(new Error('onWait of the worker has failed', { cause }))
    }
    const running: Running = { job, done: Promise.resolve() }
    this.#running.add(running)
    running.done = this.#work(running)
      .catch((cause) => {
        this.#counts.failures++
        this.#parts.onError(new Error(`The job of session "${job.sessionId}" failed`, { cause }))
      })
      .then(() => {
        this.#counts.done++
        this.#running.delete(running)
        this.#quarantine.leave(job.sessionId)
        this.#settling.push(job)
        this.#settleAndClaim()
      })
  }

  async #work(running: Running): Promise<void> {
    const { job } = running
    const { works, kinds, limited, dispatcher, clock } = this.#parts
    const own = works.find(({ kind }) => kind === job.kind)
    const context: FleetJobContext = {
      ...this.#context,
      admit: async (summary) => {
        const isAdmitted = await this.#quarantine.admit(summary, () => this.#others(running))
        if (isAdmitted && own) this.#freeAfterProgress(summary, running).catch(() => {}) // then it is alone until it ends
        return isAdmitted
      },
    }
    const onRun = (run: SessionRun): void => this.#onRun(running, run)
    const mayBegin = (sessionId: string): boolean => [undefined, sessionId].includes(this.#quarantine.alone)
    const { sessionId: id, kind, tenant } = job
    try {
      if (own) await own.work(job, context)
      else if (this.#worksOn(id, running) && !this.session(id))
        await dispatcher.wake(id, { kind, tenant, at: clock.now() + againMs }) // its agent is just being opened here
      else await runSession(job, { ...context, kinds, limited, owner: `worker ${this.id}`, mayBegin, onRun })
    } finally {
      const hasWorked = own || running.run
      for (const one of works)
        if (hasWorked && one !== own) await one.worked?.({ id, ...(tenant !== '' && { tenant }) }, this.#context)
    }
  }

  #worksOn(sessionId: string, except?: Running): boolean {
    return [...this.#running].some((one) => one !== except && one.job.sessionId === sessionId)
  }

  #others(running: Running): readonly OtherJob[] {
    const others = [...this.#running].filter((one) => one !== running)
    return others.map((one) => {
      const work = this.#parts.works.find(({ kind }) => kind === one.job.kind)
      const runsSessions = work?.runsSessions === true
      return {
        ...{ done: one.done, isRunning: !!one.run || runsSessions, isShort: !!work && !runsSessions },
        ...{ canLeave: !work, leave: () => this.#leave(one) },
      }
    })
  }

  #onRun(running: Running, run: SessionRun): void {
    running.run = run
    this.#counts.runs++
    if (run.summary.attention === 'owner_died') this.#counts.takeovers++
    if (this.#quarantine.alone !== run.session.id) return
    const stop = run.session.log.subscribe((entry) => {
      if (!isProgress(entry)) return
      stop()
      this.#quarantine.leave(run.session.id)
    })
  }

  /** A work runs its session itself, so its progress is seen in the store alone. */
  async #freeAfterProgress({ id, head }: SessionSummary, { done }: Running): Promise<void> {
    if (this.#quarantine.alone !== id) return
    const over = new AbortController()
    done.then(() => over.abort())
    for await (const { entries } of this.#parts.store.watch(id, { after: head, signal: over.signal })) {
      if (!entries.some(isProgress)) continue
      this.#quarantine.leave(id)
      return
    }
  }

  async #extend(): Promise<void> {
    const jobs = [...this.#running].map(({ job }) => job)
    if (jobs.length > 0) await this.#parts.dispatcher.extend(jobs)
  }

  async #reconcileWorks(): Promise<void> {
    for (const work of this.#parts.works) {
      if (this.#leaving.signal.aborted) return
      await work.reconcile?.(this.#context).catch((cause) => {
        this.#parts.onError(
          new Error(`The worker could not look for work of the kind "${work.kind}"; it tries again`, { cause }),
        )
      })
    }
  }

  /** Announces this worker to people and servers; nothing depends on it. */
  #announce(): Promise<void> {
    this.#announcing = this.#announcing.then(() => this.#announceNow())
    return this.#announcing
  }

  async #announceNow(): Promise<void> {
    const { directory, options, version, onError } = this.#parts
    const { address } = options
    try {
      await directory.announce({
        ...{ id: this.id, processId: thisProcessId, version, ...(address !== undefined && { address }) },
        ...{ kinds: this.#kinds, slots: this.#slots, running: this.#running.size, takeovers: this.#counts.takeovers },
        ...{ state: this.#state, startedAt: this.#startedAt },
      })
    } catch (cause) {
      onError(new Error('The worker could not list itself; it tries again', { cause }))
    }
  }

  /** Repeats something until the worker is closed, at slightly different times in each worker. */
  #every(ms: number, work: () => Promise<void>): void {
    let cancel = (): void => {}
    const next = (): void => {
      this.#timers.delete(cancel)
      cancel = this.#parts.clock.timer(ms * (0.8 + 0.2 * Math.random()), () => {
        next()
        work().catch((cause) => this.#parts.onError(new Error('A worker could not reach its queue', { cause })))
      })
      this.#timers.add(cancel)
    }
    next()
  }
}
