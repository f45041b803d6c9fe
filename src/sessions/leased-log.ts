import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { type LeaseLostError, SessionBusyError, SessionNotFoundError, SessionParkedError } from '../core/errors.ts'
import { type InboxItem, Log, type LogEntry } from '../core/log.ts'
import { parseMeta } from '../core/meta.ts'
import type { Fence, SessionDetails, SessionStore } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { checkpointAfter, type History, logHistory } from './checkpoints/checkpoint.ts'
import { crashEntries, endLeftoverCommands, madeProgress, maxCrashesOfSuspect } from './crash-recovery.ts'
import { eachDescendant, type LeaseHolder, leaseHolderOf } from './family.ts'
import { eachEntryBackwards, hasLoggedKey, readHistory } from './history.ts'
import { WriteLease } from './write-lease.ts'

export interface SessionOptions {
  readonly clock?: Clock
  readonly newId?: () => string
  /** Names the writer in the error that others get while the session is busy. */
  readonly owner?: string
  /** How long a writer keeps its lease without renewing it. Default 30 s. */
  readonly leaseMs?: number
  /** Take the session from its present writer, whose further writes are refused. */
  readonly takeOver?: boolean
}

const defaultLeaseMs = 30_000

/** Identifies this process in `run_started` entries, so that sessions of the same process can be recognized. */
export const thisProcessId: string = crypto.randomUUID()

/** Runs of this process whose end the store failed to write. */
const runsWithUnwrittenEnd = new WeakMap<SessionStore, Set<string>>()

/**
 * A log kept in a store. Its lease is held only during a run or a single addition, so that an idle session can be opened
 * by any process.
 */
export abstract class LeasedLog {
  readonly id: string
  readonly processId = thisProcessId
  readonly log: Log
  readonly store: SessionStore
  protected readonly options: SessionOptions
  protected readonly clock: Clock
  readonly #owner: string
  readonly #parent: LeasedLog | undefined
  readonly #lease: WriteLease
  /** Set for a child that was opened directly, not through its parent: it is written under the lease of its root session. */
  #leaseHolder: LeaseHolder | undefined
  /** Whether the next lease is taken even if another process holds it. */
  #takeOverNext: boolean
  #isHeldOrPending = false
  /** Opening, releasing and additions run one at a time: each waits for the end of this promise. */
  #queue: Promise<unknown> = Promise.resolve()
  /** Set if the previous lease holder crashed: the number of sessions its process had open. */
  #sessionCountOfDeadProcess: number | undefined
  /** Whether all entries of other writers are read; before that nothing may be appended. */
  #isReady = false
  #head = 0
  /** Set while `unpark()` opens the session. */
  protected opensEvenIfParked = false
  /** The id of a run that the caller recorded with `startRun()`; `recover()` must not treat it as crashed. */
  protected ownRun: string | undefined
  /** Nothing of this session is written yet. */
  isNew = false
  /** Whether to use an existing session with this id instead of failing. */
  mayExist = false
  /** Details to be written as the first entry of a new session. */
  details: SessionDetails | undefined

  /** Answers the open calls of the children that these calls started. The calls are not resumed, so nothing else would. */
  protected abstract closeCallsInChildSessions(callIds: readonly string[]): Promise<void>

  constructor(store: SessionStore, id: string, history: History, options: SessionOptions, parent?: LeasedLog) {
    const { clock = systemClock, newId = createIds(), owner = 'libero', leaseMs = defaultLeaseMs } = options
    this.id = id
    this.store = store
    this.options = { ...options, newId, owner }
    this.clock = clock
    this.#owner = `${owner}#${newId()}` // readable, and unique in the store
    this.#parent = parent
    this.#takeOverNext = options.takeOver ?? false
    const onRenewed = (inbox: readonly InboxItem[]): void => this.#acceptOnRenewal(inbox)
    this.#lease = new WriteLease({ store, owner: this.#owner, ttlMs: leaseMs, clock, onRenewed })
    this.log = new Log({
      id,
      clock,
      newId,
      history: logHistory(history),
      commit: (entries) => this.commit(entries),
      isLogged: (clientKey) => hasLoggedKey(store, id, clientKey),
      entryAfter: (written) => checkpointAfter(written, this.log.transcript),
    })
    this.#head = this.log.head
  }

  open(): Promise<void> {
    const opening = this.#queue.then(() => this.#acquireIfFree())
    this.#queue = opening.catch(() => {}) // additions that are queued later wait for this opening, and then reuse its lease
    return opening
  }

  async #acquireIfFree(): Promise<void> {
    if (this.#parent) return
    if (this.#isHeldOrPending)
      throw new SessionBusyError(
        `Session ${this.id} is being written by another run of this process; wait for it, or send it a message with agent.steer()`,
      )
    this.#isHeldOrPending = true
    try {
      await this.#acquireAndLoad()
    } catch (error) {
      await this.#releaseLease()
      throw error
    }
  }

  async #acquireAndLoad(): Promise<void> {
    this.#leaseHolder = await leaseHolderOf(this.store, this.id)
    const leaseSessionId = this.#leaseHolder?.holder ?? this.id
    const options = { takeOver: this.#takeOverNext, create: this.log.head === 0 }
    const { inbox, died, head } = await this.#lease.take(leaseSessionId, options)
    this.#sessionCountOfDeadProcess = died?.sessions
    this.#takeOverNext = false
    // A child is written under the lease of its root session, whose head says nothing about the log of the child.
    const isUpToDate = leaseSessionId === this.id && head === this.#head
    if (this.log.isBroken) await this.#reloadFromStore()
    else if (!isUpToDate) await this.#addEntriesOfOthers(await this.#readEntriesOfOthers())
    this.#isReady = true
    if (this.isNew && this.details) await this.log.append({ type: 'details', ...this.details })
    // Stop requests first: if the process of a run died before it saw a stop request, the run is then logged as stopped, not as
    // crashed. Without such a run, a stop request changes nothing. Below they are accepted again, which does nothing, because a
    // message is logged once.
    if (!this.#leaseHolder) for (const item of inbox) if (item.mode === 'stop') await this.log.accept(item)
    await this.recover()
    if (this.#leaseHolder) await this.acceptChildInbox()
    else for (const item of inbox) await this.log.accept(item)
    const { parked } = this.log.transcript
    if (parked !== undefined && !this.opensEvenIfParked)
      throw new SessionParkedError(`Session ${this.id} is parked: ${parked}. Call session.unpark() to try it again`)
  }

  /**
   * Reads the entries that other processes wrote after the head that is known here. If a new session has such entries, another
   * process has created a session with the same id.
   */
  async #readEntriesOfOthers(): Promise<readonly LogEntry[]> {
    const entries = await this.store.read(this.id, { after: this.#head })
    if (this.mayExist && entries.length > 0) this.isNew = false
    if (this.isNew && entries.length > 0)
      throw new SessionBusyError(
        `Session "${this.id}" exists already, another process created it first; use loadSession to go on with it`,
      )
    return entries
  }

  async #addEntriesOfOthers(entries: readonly LogEntry[]): Promise<void> {
    const { transcript } = this.log
    if (entries.some((entry) => entry.type === 'rewind' && !transcript.canRewindTo(entry.toSeq)))
      return this.loadWholeLog()
    this.log.addDurable(entries)
    this.#head += entries.length
  }

  /** Accepts messages with each renewal of the lease, in case watching the store has failed. */
  #acceptOnRenewal(inbox: readonly InboxItem[]): void {
    if (this.#isReady && !this.#leaseHolder) for (const item of inbox) this.log.accept(item)?.catch(() => {})
  }

  release(): Promise<void> {
    const releasing = this.#queue.then(() => this.#releaseLease()) // after pending additions, which need the lease
    this.#queue = releasing.catch(() => {})
    return releasing
  }

  async #releaseLease(): Promise<void> {
    while (this.log.isWriting) await this.log.flushed() // accepted entries are written first
    this.#rememberUnwrittenEnd()
    this.#isReady = false
    this.#isHeldOrPending = false
    await this.#lease.release()
  }

  /** If the store failed before it wrote the end of a run, remembers the run, so that `recover()` does not count it as crashed. */
  #rememberUnwrittenEnd(): void {
    const { activeRun } = this.log.transcript
    if (!this.log.isBroken || !activeRun) return
    const runs = runsWithUnwrittenEnd.get(this.store) ?? new Set()
    runsWithUnwrittenEnd.set(this.store, runs.add(activeRun.id))
  }

  listen(signal: AbortSignal, onLost?: (error: LeaseLostError) => void): Promise<void> {
    this.#lease.onLost = onLost
    return this.#acceptFromWatch(signal)
  }

  /** Accepts the messages that arrive in the store. */
  async #acceptFromWatch(signal: AbortSignal): Promise<void> {
    for await (const { inbox } of this.store.watch(this.id, { after: this.#head, signal, inboxOnly: true })) {
      if (signal.aborted) return
      for (const item of inbox) await this.log.accept(item)
    }
  }

  async send(item: InboxItem): Promise<void> {
    parseMeta(item.meta, 'the meta of a message')
    if (this.canWrite()) await this.log.accept(item)
    else if (this.isNew) await this.#sendFirst(item)
    else await this.store.send(this.id, item)
  }

  /**
   * A session without entries has an inbox only while some process holds its lease. So the first message goes directly into
   * the log.
   */
  async #sendFirst(item: InboxItem, tries = 10): Promise<void> {
    try {
      await this.withWriteAccess(() => this.log.accept(item))
    } catch (error) {
      if (!(error instanceof SessionBusyError) || !this.mayExist || tries === 0) throw error
      // Another process is creating the session; send to its inbox.
      await this.store.send(this.id, item).catch(async (problem) => {
        if (!(problem instanceof SessionNotFoundError)) throw problem
        // The other process gave up before it wrote anything. Try again, after a pause that grows with each try.
        await sleep(5 * (11 - tries), { clock: this.clock })
        return this.#sendFirst(item, tries - 1)
      })
    }
  }

  /**
   * Accepts messages that were sent to a child while nothing ran. Children are written under the root's lease. The child's own
   * lease is taken only because the store returns the inbox with it, and given back at once.
   */
  protected async acceptChildInbox(): Promise<void> {
    const lease = { owner: this.#owner, ttlMs: defaultLeaseMs, takeOver: true }
    const { inbox, epoch } = await this.store.lease(this.id, lease)
    await this.store.lease(this.id, { owner: this.#owner, ttlMs: 0, epoch })
    for (const item of inbox) await this.log.accept(item)
  }

  protected canWrite(): boolean {
    return this.#parent ? this.#parent.canWrite() : this.#isReady
  }

  /** Runs an addition to the log: under the lease that is held, else under a lease that is taken for this addition alone. */
  protected withWriteAccess(work: () => Promise<void> | void): Promise<void> {
    const addition = this.#queue.then(() => this.#runWithWriteAccess(work))
    this.#queue = addition.catch(() => {})
    return addition
  }

  async #runWithWriteAccess(work: () => Promise<void> | void): Promise<void> {
    if (this.canWrite()) return work()
    await this.#acquireIfFree()
    try {
      await work()
    } finally {
      await this.#releaseLease()
    }
  }

  protected async commit(entries: readonly LogEntry[]): Promise<void> {
    this.isNew = false // even if the append fails: the entries may have been written
    await this.store.append(this.id, entries, this.fence())
    this.#head += entries.length
  }

  /** Writes the first entries of this session, after those that it shares with another one. */
  protected appendFirstOfFork(fork: { base: string; head: number; added: readonly LogEntry[] }): Promise<void> {
    const { base, head, added } = fork
    this.isNew = false
    return this.store.append(this.id, added, { ...this.fence(), head, ...(head > 0 && { base }) })
  }

  protected fence(): Fence {
    if (this.#parent) {
      const { epoch, holder = this.#parent.id } = this.#parent.fence()
      return { epoch, head: this.#head, holder, parent: this.#parent.id }
    }
    const { epoch } = this.#lease
    if (epoch === undefined) throw new Error(`Session ${this.id} is not open for writing; call open() first`)
    return { epoch, head: this.#head, ...this.#leaseHolder }
  }

  /** The session that holds the lease: for a child its root. */
  get #root(): LeasedLog {
    return this.#parent ? this.#parent.#root : this
  }

  async #reloadFromStore(): Promise<void> {
    const summary = (await this.store.find(this.id)) ?? { id: this.id }
    // Listeners also get the entries written after our head.
    this.reloadLog(await readHistory(this.store, summary, { withAllAfter: this.log.head }))
  }

  /** Loads the turns before the last checkpoint too. */
  protected async loadWholeLog(): Promise<void> {
    await this.log.flushed()
    this.reloadLog({ entries: await this.store.read(this.id) })
  }

  protected reloadLog(history: History): void {
    this.log.reload(logHistory(history))
    this.#head = this.log.head
  }

  /**
   * If the last run has no end in the log, because its process died or the store failed, logs how it ended, with results for its
   * calls that cannot run again, and `parked` after too many crashes. Of this opening, only stop requests and the details of a
   * new session are in the log before these entries.
   */
  protected async recover(): Promise<void> {
    const { transcript } = this.log
    const run = transcript.activeRun
    if (!run || run.id === this.ownRun) return
    const hasStoreFailed = runsWithUnwrittenEnd.get(this.store)?.delete(run.id) ?? false
    // If only the store failed, the run itself has ended its commands.
    const describeLeftoverCommands = hasStoreFailed ? undefined : await endLeftoverCommands(transcript)
    const entries = crashEntries(transcript, {
      hasStoreFailed,
      describeLeftoverCommands,
      sessionCountOfDeadProcess: this.#root.#sessionCountOfDeadProcess,
    })
    const isParking = entries.at(-1)?.type === 'parked'
    if (isParking && (await this.#mayBeInnocent(run.startedAt))) entries.pop()
    const interruptedCallIds = entries.flatMap((entry) => (entry.type === 'call_result' ? [entry.callId] : []))
    await this.closeCallsInChildSessions(interruptedCallIds)
    if (entries.length > 0) await this.log.appendAll(entries)
  }

  /** Whether a session that crashed often enough to be parked is a suspect that crashed too seldom, or its children made progress. */
  async #mayBeInnocent(since: number): Promise<boolean> {
    const { suspicions = 0 } = (await this.store.find(this.id)) ?? {}
    if (suspicions > 0 && this.log.transcript.crashes + 1 < maxCrashesOfSuspect) return true
    for await (const { id, updatedAt } of eachDescendant(this.store, this.id))
      if (updatedAt >= since && (await madeProgress(eachEntryBackwards(this.store, id), since))) return true
    return false
  }
}
