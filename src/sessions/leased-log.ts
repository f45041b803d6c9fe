import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { type LeaseLostError, SessionBusyError, SessionNotFoundError, SessionParkedError } from '../core/errors.ts'
import { type InboxItem, Log, type LogEntry } from '../core/log.ts'
import { parseMeta } from '../core/meta.ts'
import type { Fence, SessionDetails, SessionStore } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { type History, logHistory } from './checkpoints/checkpoint.ts'
import { checkpointAfter } from './checkpoints/write-checkpoint.ts'
import { crashEntries, endLeftoverCommands, madeProgress } from './crash-recovery.ts'
import { eachDescendant, type ParentLease, parentLeaseOf } from './family.ts'
import { eachEntryBackwards, hasLoggedKey, readHistory } from './history.ts'
import { WriteLease } from './write-lease.ts'

export interface SessionOptions {
  readonly clock?: Clock
  readonly newId?: () => string
  /** Names the writer in the error that others get while the session is busy. */
  readonly owner?: string
  /** How long a writer that does not renew its lease keeps it. Default 30 s. */
  readonly leaseMs?: number
  /** Take the session from its present writer, whose further writes are refused. */
  readonly takeOver?: boolean
}

const defaultLeaseMs = 30_000

/** Written into the log with each run, so that sessions that one process held are recognized. */
export const thisProcessId: string = crypto.randomUUID()

/** Runs of this process whose end the store failed to write. */
const cutOff = new WeakMap<SessionStore, Set<string>>()

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
  /** Set for a child that was opened on its own: it is written under the lease of its root session. */
  #parentLease: ParentLease | undefined
  #takesOver: boolean
  /** The lease is held, or being taken. */
  #isTaken = false
  /** Additions run one at a time. */
  #additions: Promise<unknown> = Promise.resolve()
  /** If the process that held the lease before died: how many leases it held then. */
  #leasesOfDeadProcess: number | undefined
  /** Whether all entries of other writers are read; before that nothing may be appended. */
  #isReady = false
  #head = 0
  /** Set while `unpark()` opens the session. */
  protected opensEvenIfParked = false
  /** The id of a run that the caller recorded with `startRun()`; `recover()` must not treat it as crashed. */
  protected ownRun: string | undefined
  /** Nothing of this session is written yet. */
  isNew = false
  /** If another process creates it first, this one goes on with it. */
  mayExist = false
  /** Details to be written as the first entry of a new session. */
  details: SessionDetails | undefined

  /** Ends the open calls of children whose parent calls are not resumed. */
  protected abstract answerChildCalls(callIds: readonly string[]): Promise<void>

  constructor(store: SessionStore, id: string, history: History, options: SessionOptions, parent?: LeasedLog) {
    const { clock = systemClock, newId = createIds(), owner = 'libero', leaseMs = defaultLeaseMs } = options
    this.id = id
    this.store = store
    this.options = { ...options, newId, owner }
    this.clock = clock
    this.#owner = `${owner}#${newId()}` // readable, and unique in the store
    this.#parent = parent
    this.#takesOver = options.takeOver ?? false
    const onRenewed = (inbox: readonly InboxItem[]): void => this.#admit(inbox)
    this.#lease = new WriteLease({ store, owner: this.#owner, ttlMs: leaseMs, clock, onRenewed })
    this.log = new Log({
      ...{ id, clock, newId, history: logHistory(history) },
      commit: (entries) => this.commit(entries),
      isLogged: (clientKey) => hasLoggedKey(store, id, clientKey),
      entryAfter: (written) => checkpointAfter(written, this.log.transcript),
    })
    this.#head = this.log.head
  }

  open(): Promise<void> {
    const opening = this.#additions.then(() => this.#acquire())
    this.#additions = opening.catch(() => {}) // additions meanwhile wait, and then find it open
    return opening
  }

  async #acquire(): Promise<void> {
    if (this.#parent) return
    if (this.#isTaken) throw new SessionBusyError(`Session ${this.id} is being written by another run of this process`)
    this.#isTaken = true
    try {
      await this.#take()
    } catch (error) {
      await this.#releaseLease()
      throw error
    }
  }

  async #take(): Promise<void> {
    this.#parentLease = await parentLeaseOf(this.store, this.id)
    const holder = this.#parentLease?.holder ?? this.id
    const how = { takeOver: this.#takesOver, create: this.log.head === 0 }
    const { inbox, died, head } = await this.#lease.take(holder, how)
    this.#leasesOfDeadProcess = died?.sessions
    this.#takesOver = false // applies only once
    const isUpToDate = holder === this.id && head === this.#head
    if (this.log.isBroken) await this.#reload()
    else if (!isUpToDate) await this.#absorb(await this.#readNew())
    this.#isReady = true
    if (this.isNew && this.details) await this.log.append({ type: 'details', ...this.details })
    // Stop requests are accepted before `recover()`, so they still apply to a run whose process died without seeing them. A
    // run that has ended is not affected.
    if (!this.#parentLease) for (const item of inbox) if (item.mode === 'stop') await this.log.accept(item)
    await this.recover()
    if (this.#parentLease) await this.collectInbox()
    else for (const item of inbox) await this.log.accept(item)
    const { parked } = this.log.transcript
    if (parked !== undefined && !this.opensEvenIfParked)
      throw new SessionParkedError(`Session ${this.id} is parked: ${parked}. Call session.unpark() to try it again`)
  }

  /** The entries that others wrote since. A new session must have none: another process may have created the same id. */
  async #readNew(): Promise<readonly LogEntry[]> {
    const entries = await this.store.read(this.id, { after: this.#head })
    if (this.mayExist && entries.length > 0) this.isNew = false
    if (this.isNew && entries.length > 0)
      throw new SessionBusyError(
        `Session "${this.id}" exists already, another process created it first; use loadSession to go on with it`,
      )
    return entries
  }

  /** Delivers messages with each renewal of the lease, in case watching the store has failed. */
  #admit(inbox: readonly InboxItem[]): void {
    if (this.#isReady && !this.#parentLease) for (const item of inbox) this.log.accept(item)?.catch(() => {})
  }

  release(): Promise<void> {
    const releasing = this.#additions.then(() => this.#releaseLease()) // after pending additions, which need the lease
    this.#additions = releasing.catch(() => {})
    return releasing
  }

  async #releaseLease(): Promise<void> {
    while (this.log.isWriting) await this.log.flushed() // accepted entries are written first
    this.#rememberCutOff()
    this.#isReady = false
    this.#isTaken = false
    await this.#lease.release()
  }

  /** Remembers a run that ended because the store failed: it did not crash, and its log could not record that. */
  #rememberCutOff(): void {
    const { activeRun } = this.log.transcript
    if (!this.log.isBroken || !activeRun) return
    const runs = cutOff.get(this.store) ?? new Set()
    cutOff.set(this.store, runs.add(activeRun.id))
  }

  listen(signal: AbortSignal, onLost?: (error: LeaseLostError) => void): Promise<void> {
    this.#lease.onLost = onLost
    return this.#deliver(signal)
  }

  async #deliver(signal: AbortSignal): Promise<void> {
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

  /** The store has an inbox for a session only while a process has it, or once it is written. */
  async #sendFirst(item: InboxItem, tries = 10): Promise<void> {
    try {
      await this.whileOpen(() => this.log.accept(item))
    } catch (error) {
      if (!(error instanceof SessionBusyError) || !this.mayExist || tries === 0) throw error
      // Another process is just making it.
      await this.store.send(this.id, item).catch(async (problem) => {
        if (!(problem instanceof SessionNotFoundError)) throw problem
        await sleep(5 * (11 - tries), { clock: this.clock }) // that process ends without writing; another one may be next
        return this.#sendFirst(item, tries - 1)
      })
    }
  }

  /** Admits messages sent to a child while nothing ran. A child's own lease guards nothing, but it gives access to its inbox. */
  protected async collectInbox(): Promise<void> {
    const lease = { owner: this.#owner, ttlMs: defaultLeaseMs, takeOver: true }
    const { inbox, epoch } = await this.store.lease(this.id, lease)
    await this.store.lease(this.id, { owner: this.#owner, ttlMs: 0, epoch })
    for (const item of inbox) await this.log.accept(item)
  }

  protected canWrite(): boolean {
    return this.#parent ? this.#parent.canWrite() : this.#isReady
  }

  protected whileOpen(work: () => Promise<void> | void): Promise<void> {
    const addition = this.#additions.then(() => this.#add(work))
    this.#additions = addition.catch(() => {})
    return addition
  }

  async #add(work: () => Promise<void> | void): Promise<void> {
    if (this.canWrite()) return work()
    await this.#acquire()
    try {
      await work()
    } finally {
      await this.#releaseLease()
    }
  }

  protected async commit(entries: readonly LogEntry[]): Promise<void> {
    this.isNew = false // even if this fails: it may have been written
    await this.store.append(this.id, entries, this.fence())
    this.#head += entries.length
  }

  /** Writes the first entries of this session, after those that it shares with another one. */
  protected share({ base, head, added }: { base: string; head: number; added: readonly LogEntry[] }): Promise<void> {
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
    return { epoch, head: this.#head, ...this.#parentLease }
  }

  /** A child is written under the lease of its root. */
  #sessionsOfDeadProcess(): number | undefined {
    return this.#parent ? this.#parent.#sessionsOfDeadProcess() : this.#leasesOfDeadProcess
  }

  async #reload(): Promise<void> {
    const summary = (await this.store.find(this.id)) ?? { id: this.id }
    this.restart(await readHistory(this.store, summary, { notAfter: this.log.head })) // listeners need the entries since
  }

  /** Loads the turns before the last checkpoint too. */
  protected async loadWholeLog(): Promise<void> {
    await this.log.flushed()
    this.restart({ entries: await this.store.read(this.id) })
  }

  protected restart(history: History): void {
    this.log.reload(logHistory(history))
    this.#head = this.log.head
  }

  async #absorb(entries: readonly LogEntry[]): Promise<void> {
    const { transcript } = this.log
    if (entries.some((entry) => entry.type === 'rewind' && !transcript.canRewindTo(entry.toSeq)))
      return this.loadWholeLog()
    this.log.addDurable(entries)
    this.#head += entries.length
  }

  /** Records the crash of a previous process in the log before anything else is written. */
  protected async recover(): Promise<void> {
    const { transcript } = this.log
    const run = transcript.activeRun
    if (!run || run.id === this.ownRun) return
    const wasCutOff = cutOff.get(this.store)?.delete(run.id) ?? false
    // A run that was cut off in this process has ended its commands itself.
    const commandsOf = wasCutOff ? undefined : await endLeftoverCommands(transcript)
    const entries = crashEntries(transcript, {
      wasCutOff,
      commandsOf,
      sessionsOfDeadProcess: this.#sessionsOfDeadProcess(),
    })
    const isParking = entries.at(-1)?.type === 'parked'
    // Progress of its children counts like its own.
    if (isParking && (await this.#haveChildrenProgressed(run.startedAt))) entries.pop()
    const lost = entries.flatMap((entry) => (entry.type === 'call_result' ? [entry.callId] : []))
    await this.answerChildCalls(lost)
    if (entries.length > 0) await this.log.appendAll(entries)
  }

  async #haveChildrenProgressed(since: number): Promise<boolean> {
    for await (const { id, updatedAt } of eachDescendant(this.store, this.id))
      if (updatedAt >= since && (await madeProgress(eachEntryBackwards(this.store, id), since))) return true
    return false
  }
}
