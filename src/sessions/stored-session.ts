import { abandonChildren, abandonOpenCalls, isChildOf } from '../core/abandoned-child.ts'
import { show } from '../core/behavior.ts'
import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { type LeaseLostError, SessionBusyError, SessionParkedError } from '../core/errors.ts'
import { type EntryBody, type InboxItem, Log, type LogEntry } from '../core/log.ts'
import type { Fence, PendingAnswer, PendingCall, Session, SessionStore } from '../core/store.ts'
import { syntheticResult } from '../core/synthetic-result.ts'
import type { Message } from '../core/turn.ts'
import { addedTurns } from './added-turns.ts'
import { answerTo } from './answer.ts'
import { gotOn, leftBehind } from './crash-remains.ts'
import { childNames, descendantsOf, type Guard, guardOf } from './family.ts'
import { forkedPast } from './forked-entries.ts'
import { pendingCalls } from './pending.ts'
import { withSpill } from './spill.ts'
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

/** A session that does not exist yet. */
export async function makeSession(store: SessionStore, id: string, options: SessionOptions): Promise<Session> {
  if ((await store.read(id)).length > 0)
    throw new Error(`Session "${id}" exists already; use loadSession(store, "${id}")`)
  const session = new StoredSession(withSpill(store), id, [], options)
  session.isNew = true
  return session
}

/** A session that was begun before. */
export async function readSession(store: SessionStore, id: string, options: SessionOptions): Promise<Session> {
  const history = await withSpill(store).read(id)
  if (history.length === 0) throw new Error(`There is no session "${id}" in this store; list() names those it has`)
  return new StoredSession(withSpill(store), id, history, options)
}

/**
 * A log kept in a store. The right to write is held only while something is written: during a run, or for the moment of
 * a single addition, so that a session at rest can be opened anywhere.
 */
class StoredSession implements Session {
  readonly id: string
  readonly log: Log
  readonly #store: SessionStore
  readonly #options: SessionOptions
  readonly #clock: Clock
  readonly #owner: string
  readonly #parent: StoredSession | undefined
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
  #mayBeParked = false
  /** The run that whoever uses this object is conducting himself. */
  #ownRun: string | undefined
  /** Nothing of it is written yet. */
  isNew = false
  /** Names of the children that were there when somebody asked, for as long as nobody else may make one. */
  #foundChildren: { readonly epoch: number; readonly names: Promise<Set<string>> } | undefined
  readonly #madeChildren = new Set<string>()

  constructor(
    store: SessionStore,
    id: string,
    history: readonly LogEntry[],
    options: SessionOptions,
    parent?: StoredSession,
  ) {
    const { clock = systemClock, newId = createIds(), owner = 'libero', leaseMs = defaultLeaseMs } = options
    this.id = id
    this.#store = store
    this.#options = { ...options, newId, owner }
    this.#clock = clock
    this.#owner = `${owner}#${newId()}` // a name for people, made one of a kind for the store
    this.#parent = parent
    this.#takesOver = options.takeOver ?? false
    const onRenewed = (inbox: readonly InboxItem[]): void => this.#hear(inbox)
    this.#lease = new WriteLease({ store, owner: this.#owner, ttlMs: leaseMs, clock, onRenewed })
    this.#head = history.length
    this.log = new Log({ id, clock, newId, history, commit: (entries) => this.#commit(entries) })
  }

  get turns() {
    return this.log.transcript.settledTurns
  }

  get runs() {
    return this.log.transcript.runs
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
    this.#guard = await guardOf(this.#store, this.id)
    const inbox = await this.#lease.take(this.#guard?.holder ?? this.id, this.#takesOver)
    this.#takesOver = false // it was asked for once, not for ever
    if (this.log.isBroken) this.#reload(await this.#store.read(this.id))
    else this.#absorb(await this.#readOn())
    this.#isReady = true
    await this.#settle()
    if (this.#guard) await this.#collect()
    else for (const item of inbox) await this.log.admit(item)
    const { parked } = this
    if (parked !== undefined && !this.#mayBeParked)
      throw new SessionParkedError(`Session ${this.id} is parked: ${parked}. Call session.unpark() to try it again`)
  }

  /** What others wrote since. Who made a session does not go on with one that somebody else made meanwhile. */
  async #readOn(): Promise<readonly LogEntry[]> {
    const entries = await this.#store.read(this.id, this.#head)
    if (this.isNew && entries.length > 0)
      throw new Error(`Session "${this.id}" exists already, somebody made it first; use loadSession to go on with it`)
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
    while (this.log.isWriting) await this.log.settled() // what was accepted is written first
    this.#noteCutOff()
    this.#isReady = false
    this.#isTaken = false
    await this.#lease.giveBack()
  }

  /** A run that ended because the store did not write has not crashed; nobody could say so in its log. */
  #noteCutOff(): void {
    const { activeRun } = this.log.transcript
    if (!this.log.isBroken || !activeRun) return
    const runs = cutOff.get(this.#store) ?? new Set()
    cutOff.set(this.#store, runs.add(activeRun.id))
  }

  listen(signal: AbortSignal, onLost?: (error: LeaseLostError) => void): Promise<void> {
    this.#lease.onLost = onLost
    return this.#deliver(signal)
  }

  async #deliver(signal: AbortSignal): Promise<void> {
    for await (const { inbox } of this.#store.watch(this.id, { after: this.#head, signal })) {
      if (signal.aborted) return
      for (const item of inbox) await this.log.admit(item)
    }
  }

  async send(item: InboxItem): Promise<void> {
    if (this.#canWrite()) await this.log.admit(item)
    else await this.#store.send(this.id, item)
  }

  async addTurns(messages: readonly Message[]): Promise<void> {
    const turns = addedTurns(messages, () => ({ id: this.#options.newId!(), createdAt: this.#clock.now() }))
    await this.#whileOpen(async () => {
      if (this.log.transcript.isLive)
        throw new Error('A run is under way; speak into it with agent.steer() or followUp()')
      await abandonOpenCalls(this)
      const skipped = this.log.transcript.openCalls.map((call) => syntheticResult(call.id, 'skipped'))
      await this.log.appendAll([...skipped, ...turns])
    })
  }

  async save(): Promise<void> {
    // A session without a word must exist too: it may be created here and loaded elsewhere.
    const created: EntryBody = { type: 'state', owner: 'session', value: { createdAt: this.#clock.now() } }
    if (this.log.head === 0) await this.#whileOpen(() => this.log.append(created))
    await this.log.settled()
  }

  startRun({ runId, model }: { runId: string; model: string }): Promise<void> {
    if (typeof runId !== 'string' || runId === '') throw new TypeError(`startRun needs a runId, got ${show(runId)}`)
    this.#ownRun = runId
    return this.#whileOpen(() => this.log.append({ type: 'run_started', runId, model }))
  }

  completeRun(runId: string, stop = 'end'): Promise<void> {
    return this.#whileOpen(() => this.log.append({ type: 'run_ended', runId, status: 'completed', stop }))
  }

  abortRun(runId: string): Promise<void> {
    return this.#whileOpen(() => this.log.append({ type: 'run_ended', runId, status: 'aborted', stop: 'aborted' }))
  }

  async child(name: string): Promise<Session> {
    const id = `${this.id}/${name}`
    this.#madeChildren.add(name)
    const child = new StoredSession(this.#store, id, await this.#store.read(id), this.#options, this)
    await child.#settle()
    if (child.log.head > 0) await child.#collect()
    return child
  }

  /** What was sent to a child while nothing ran. Its own lease guards nothing: it is the way to its inbox. */
  async #collect(): Promise<void> {
    const lease = { owner: this.#owner, ttlMs: defaultLeaseMs, takeOver: true }
    const { inbox, epoch } = await this.#store.lease(this.id, lease)
    await this.#store.lease(this.id, { owner: this.#owner, ttlMs: 0, epoch })
    for (const item of inbox) await this.log.admit(item)
  }

  async childrenOf(...callIds: readonly string[]): Promise<readonly string[]> {
    const found = await (this.#canWrite() ? this.#knownChildren() : childNames(this.#store, this.id))
    const names = [...new Set([...found, ...this.#madeChildren])]
    return names.filter((name) => callIds.some((callId) => isChildOf(name, callId)))
  }

  /** The store may hold many sessions: who is the only one to make children looks once. */
  #knownChildren(): Promise<Set<string>> {
    const { epoch } = this.#fence()
    if (this.#foundChildren?.epoch === epoch) return this.#foundChildren.names
    const names = childNames(this.#store, this.id)
    this.#foundChildren = { epoch, names }
    names.catch(() => {
      this.#foundChildren = undefined // the next one looks again
    })
    return names
  }

  async tree(): Promise<readonly (readonly LogEntry[])[]> {
    const ids = [this.id, ...(await descendantsOf(this.#store, this.id))]
    return Promise.all(ids.map((id) => this.#store.read(id)))
  }

  get pending(): readonly PendingCall[] {
    return pendingCalls(this.log.transcript)
  }

  async pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]> {
    const children = await Promise.all((await descendantsOf(this.#store, this.id)).map((id) => this.#read(id)))
    const waiting = [this, ...children].flatMap(({ id, pending }) =>
      pending.map((call) => ({ ...call, sessionId: id })),
    )
    // A call that waits for its child, or for its second (`call~2`), is answered there.
    const isAbove = (id: string): boolean =>
      waiting.some(({ sessionId }) => [`${id}/`, `${id}~`].some((place) => `${sessionId}/`.startsWith(place)))
    return waiting.filter(({ sessionId, callId }) => !isAbove(`${sessionId}/${callId}`))
  }

  async #read(id: string): Promise<StoredSession> {
    return new StoredSession(this.#store, id, await this.#store.read(id), this.#options)
  }

  async answer(callId: string, answer: PendingAnswer): Promise<void> {
    // Somebody else may have written since; who asks first is answered by what is there now.
    const { log } = this.#canWrite() ? this : await this.#read(this.id)
    const item = answerTo(log, callId, answer)
    if (item) await this.send(item)
  }

  get parked(): string | undefined {
    return this.log.transcript.parked
  }

  async unpark(): Promise<void> {
    this.#mayBeParked = true
    try {
      await this.#whileOpen(() => (this.parked === undefined ? undefined : this.log.append({ type: 'unparked' })))
    } finally {
      this.#mayBeParked = false
    }
  }

  get labels() {
    return [...this.log.transcript.labels]
  }

  async label(text: string): Promise<number> {
    if (typeof text !== 'string' || text === '') throw new TypeError(`label takes a text, got ${show(text)}`)
    await this.#whileOpen(() => this.log.append({ type: 'label', text }))
    return this.labels.findLast((label) => label.text === text)?.seq ?? this.log.head
  }

  pin(turnId: string): Promise<void> {
    if (!this.log.transcript.turns.some(({ id }) => id === turnId))
      throw new Error(`Session ${this.id} has no turn "${turnId}" to pin; session.turns has those there are`)
    return this.#setPins((pins) => (pins.includes(turnId) ? pins : [...pins, turnId]))
  }

  unpin(turnId: string): Promise<void> {
    return this.#setPins((pins) => pins.filter((id) => id !== turnId))
  }

  #setPins(change: (pins: readonly string[]) => readonly string[]): Promise<void> {
    return this.#whileOpen(() => {
      const pins = (this.log.transcript.states.get('pins') ?? []) as readonly string[]
      const changed = change(pins)
      if (changed.length !== pins.length) return this.log.append({ type: 'state', owner: 'pins', value: changed })
    })
  }

  async rewind(toSeq: number): Promise<void> {
    if (!Number.isInteger(toSeq) || toSeq < 0)
      throw new TypeError(`rewind takes the number of a log entry, 0 for the beginning, got ${show(toSeq)}`)
    await this.#whileOpen(async () => {
      if (this.log.transcript.isLive) throw new Error('A run is under way; abort it before rewind()')
      if (toSeq > this.log.head)
        throw new RangeError(`Session ${this.id} has ${this.log.head} entries; it cannot be rewound to ${toSeq}`)
      await abandonOpenCalls(this)
      await this.log.append({ type: 'rewind', toSeq })
    })
  }

  async fork(atSeq?: number, { id = this.#options.newId!() }: { id?: string } = {}): Promise<Session> {
    const entries = await this.#store.read(this.id)
    const at = atSeq ?? entries.length
    if (!Number.isInteger(at) || at < 0 || at > entries.length)
      throw new RangeError(`Session ${this.id} has ${entries.length} entries; it cannot be forked at ${show(at)}`)
    const session = (await makeSession(this.#store, id, this.#options)) as StoredSession
    const past = forkedPast(entries, this.id, at)
    await session.#begin(past.entries, past.ending)
    return session
  }

  /** Takes over another session's past. */
  #begin(past: readonly LogEntry[], ending: readonly EntryBody[]): Promise<void> {
    return this.#whileOpen(async () => {
      if (this.log.head > 0) throw new Error(`Session "${this.id}" exists already; fork to another id`)
      const about = () => ({ id: this.#options.newId!(), at: this.#clock.now() })
      const added = ending.map((body, i): LogEntry => ({ ...body, seq: past.length + i + 1, ...about() }))
      const entries = [...past, ...added] // at once: a past without its ending would go on where another run stopped
      await this.#commit(entries)
      this.log.absorb(entries)
    })
  }

  #canWrite(): boolean {
    return this.#parent ? this.#parent.#canWrite() : this.#isReady
  }

  #whileOpen(work: () => Promise<void> | void): Promise<void> {
    const addition = this.#additions.then(() => this.#add(work))
    this.#additions = addition.catch(() => {})
    return addition
  }

  async #add(work: () => Promise<void> | void): Promise<void> {
    if (this.#canWrite()) return work()
    await this.#acquire()
    try {
      await work()
    } finally {
      await this.#letGo()
    }
  }

  async #commit(entries: readonly LogEntry[]): Promise<void> {
    this.isNew = false // whatever becomes of it, what is there now may be ours
    await this.#store.append(this.id, entries, this.#fence())
    this.#head += entries.length
  }

  #fence(): Fence {
    if (this.#parent) {
      const { epoch, holder = this.#parent.id } = this.#parent.#fence()
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
  async #settle(): Promise<void> {
    const { transcript } = this.log
    const run = transcript.activeRun
    if (!run || run.id === this.#ownRun) return
    const wasCutOff = cutOff.get(this.#store)?.delete(run.id) ?? false
    const left = leftBehind(transcript, wasCutOff)
    const isParking = left.at(-1)?.type === 'parked'
    // What its children did in the run that died counts as much as what it did itself.
    if (isParking && gotOn((await this.tree()).slice(1), transcript.activeRun)) left.pop()
    const lost = left.flatMap((entry) => (entry.type === 'call_result' ? [entry.callId] : []))
    await abandonChildren(this, lost)
    if (left.length > 0) await this.log.appendAll(left)
  }
}
