import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { type LeaseLostError, SessionBusyError, SessionParkedError } from '../core/errors.ts'
import { type InboxItem, Log, type LogEntry } from '../core/log.ts'
import { readMeta } from '../core/meta.ts'
import type { Fence, SessionStore } from '../core/store.ts'
import { gotOn, leftBehind } from './crash-remains.ts'
import { type Guard, guardOf } from './family.ts'
import { WriteLease } from './write-lease.ts'

export interface SessionOptions {
  readonly clock?: Clock
  readonly newId?: () => string
  /** Who writes, as others are told when they find the session busy. */
  readonly owner?: string
  /** How long a writer that went silent keeps its right to write. Default 30 s. */
  readonly leaseMs?: number
  /** Take the session from whoever writes it; what he still tries to write is refused. */
  readonly takeOver?: boolean
}

const defaultLeaseMs = 30_000

/** Runs of this process whose end a store did not take. */
const cutOff = new WeakMap<SessionStore, Set<string>>()

/**
 * A log kept in a store. The right to write is held only while something is written: during a run, or for the moment of
 * a single addition, so that a session at rest can be opened anywhere.
 */
export abstract class LeasedLog {
  readonly id: string
  readonly log: Log
  protected readonly store: SessionStore
  protected readonly options: SessionOptions
  protected readonly clock: Clock
  readonly #owner: string
  readonly #parent: LeasedLog | undefined
  readonly #lease: WriteLease
  /** Whose lease guards this session: its own, or for a child that was opened by itself that of the session at the top. */
  #guard: Guard | undefined
  #takesOver: boolean
  /** Somebody has asked for the right to write, or holds it. */
  #isTaken = false
  /** One addition at a time, so that they do not find each other in the way. */
  #additions: Promise<unknown> = Promise.resolve()
  /** Whether all that others wrote is known; before that nothing may be added. */
  #isReady = false
  #head = 0
  protected mayBeParked = false
  /** The run that whoever uses this object is conducting himself. */
  protected ownRun: string | undefined
  /** Nothing of it is written yet. */
  isNew = false

  /** The logs of this session and of all below it. */
  abstract tree(): Promise<readonly (readonly LogEntry[])[]>
  /** Answers what the children of calls left open that nobody goes on with. */
  protected abstract giveUpChildren(callIds: readonly string[]): Promise<void>

  constructor(
    store: SessionStore,
    id: string,
    history: readonly LogEntry[],
    options: SessionOptions,
    parent?: LeasedLog,
  ) {
    const { clock = systemClock, newId = createIds(), owner = 'libero', leaseMs = defaultLeaseMs } = options
    this.id = id
    this.store = store
    this.options = { ...options, newId, owner }
    this.clock = clock
    this.#owner = `${owner}#${newId()}` // a name for people, made one of a kind for the store
    this.#parent = parent
    this.#takesOver = options.takeOver ?? false
    const onRenewed = (inbox: readonly InboxItem[]): void => this.#hear(inbox)
    this.#lease = new WriteLease({ store, owner: this.#owner, ttlMs: leaseMs, clock, onRenewed })
    this.#head = history.length
    this.log = new Log({ id, clock, newId, history, commit: (entries) => this.commit(entries) })
  }

  open(): Promise<void> {
    const opening = this.#additions.then(() => this.#acquire())
    this.#additions = opening.catch(() => {}) // what is added meanwhile waits, and then finds it open
    return opening
  }

  async #acquire(): Promise<void> {
    if (this.#parent) return
    if (this.#isTaken) throw new SessionBusyError(`Session ${this.id} is being written by another run of this process`)
    this.#isTaken = true
    try {
      await this.#take()
    } catch (error) {
      await this.#letGo()
      throw error
    }
  }

  async #take(): Promise<void> {
    this.#guard = await guardOf(this.store, this.id)
    const inbox = await this.#lease.take(this.#guard?.holder ?? this.id, this.#takesOver)
    this.#takesOver = false // it was asked for once, not for ever
    if (this.log.isBroken) this.#reload(await this.store.read(this.id))
    else this.#absorb(await this.#readOn())
    this.#isReady = true
    // Sent to a run whose process died before it heard it, it counts all the same; to one that has ended, no more.
    if (!this.#guard) for (const item of inbox) if (item.mode === 'stop') await this.log.admit(item)
    await this.settle()
    if (this.#guard) await this.collect()
    else for (const item of inbox) await this.log.admit(item)
    const { parked } = this.log.transcript
    if (parked !== undefined && !this.mayBeParked)
      throw new SessionParkedError(`Session ${this.id} is parked: ${parked}. Call session.unpark() to try it again`)
  }

  /** What others wrote since. Who made a session does not go on with one that somebody else made meanwhile. */
  async #readOn(): Promise<readonly LogEntry[]> {
    const entries = await this.store.read(this.id, this.#head)
    if (this.isNew && entries.length > 0)
      throw new SessionBusyError(
        `Session "${this.id}" exists already, somebody made it first; use loadSession to go on with it`,
      )
    return entries
  }

  /** Messages arrive late, but they do, where watching the store has failed. */
  #hear(inbox: readonly InboxItem[]): void {
    if (this.#isReady && !this.#guard) for (const item of inbox) this.log.admit(item)?.catch(() => {})
  }

  release(): Promise<void> {
    const releasing = this.#additions.then(() => this.#letGo()) // what is being added still needs it
    this.#additions = releasing.catch(() => {})
    return releasing
  }

  async #letGo(): Promise<void> {
    while (this.log.isWriting) await this.log.flushed() // what was accepted is written first
    this.#noteCutOff()
    this.#isReady = false
    this.#isTaken = false
    await this.#lease.giveBack()
  }

  /** A run that ended because the store did not write has not crashed; nobody could say so in its log. */
  #noteCutOff(): void {
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
    for await (const { inbox } of this.store.watch(this.id, { after: this.#head, signal })) {
      if (signal.aborted) return
      for (const item of inbox) await this.log.admit(item)
    }
  }

  async send(item: InboxItem): Promise<void> {
    readMeta(item.meta, 'the meta of a message')
    if (this.canWrite()) await this.log.admit(item)
    else await this.store.send(this.id, item)
  }

  /** What was sent to a child while nothing ran. Its own lease guards nothing: it is the way to its inbox. */
  protected async collect(): Promise<void> {
    const lease = { owner: this.#owner, ttlMs: defaultLeaseMs, takeOver: true }
    const { inbox, epoch } = await this.store.lease(this.id, lease)
    await this.store.lease(this.id, { owner: this.#owner, ttlMs: 0, epoch })
    for (const item of inbox) await this.log.admit(item)
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
      await this.#letGo()
    }
  }

  protected async commit(entries: readonly LogEntry[]): Promise<void> {
    this.isNew = false // whatever becomes of it, what is there now may be ours
    await this.store.append(this.id, entries, this.fence())
    this.#head += entries.length
  }

  protected fence(): Fence {
    if (this.#parent) {
      const { epoch, holder = this.#parent.id } = this.#parent.fence()
      return { epoch, head: this.#head, holder, parent: this.#parent.id }
    }
    const { epoch } = this.#lease
    if (epoch === undefined) throw new Error(`Session ${this.id} is not open for writing; call open() first`)
    return { epoch, head: this.#head, ...this.#guard }
  }

  #reload(history: readonly LogEntry[]): void {
    this.log.reload(history)
    this.#head = history.length
  }

  #absorb(entries: readonly LogEntry[]): void {
    this.log.absorb(entries)
    this.#head += entries.length
  }

  /** What a process left behind when it died becomes part of the log before anything else happens. */
  protected async settle(): Promise<void> {
    const { transcript } = this.log
    const run = transcript.activeRun
    if (!run || run.id === this.ownRun) return
    const wasCutOff = cutOff.get(this.store)?.delete(run.id) ?? false
    // Where this process lives, its run has ended its commands itself.
    const commandsOf = wasCutOff ? undefined : await (await import('./left-commands.ts')).endLeftCommands(transcript)
    const left = leftBehind(transcript, { wasCutOff, commandsOf })
    const isParking = left.at(-1)?.type === 'parked'
    // What its children did in the run that died counts as much as what it did itself.
    if (isParking && gotOn((await this.tree()).slice(1), transcript.activeRun)) left.pop()
    const lost = left.flatMap((entry) => (entry.type === 'call_result' ? [entry.callId] : []))
    await this.giveUpChildren(lost)
    if (left.length > 0) await this.log.appendAll(left)
  }
}
