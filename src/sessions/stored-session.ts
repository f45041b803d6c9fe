import { abandonChildren } from '../core/abandoned-child.ts'
import { show } from '../core/behavior.ts'
import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { LeaseLostError, SessionBusyError, SessionParkedError } from '../core/errors.ts'
import { failpoint } from '../core/failpoint.ts'
import { type EntryBody, type InboxItem, Log, type LogEntry } from '../core/log.ts'
import { repairPairs } from '../core/pairing.ts'
import { readPrompt } from '../core/run-options.ts'
import type { Fence, PendingAnswer, PendingCall, Session, SessionStore } from '../core/store.ts'
import { syntheticResult } from '../core/synthetic-result.ts'
import type { Message } from '../core/turn.ts'
import { leftBehind } from './crash-remains.ts'
import { forkedPast } from './forked-entries.ts'
import { pendingCalls } from './pending.ts'
import { withSpill } from './spill.ts'

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

/** A session that does not exist yet. */
export async function makeSession(store: SessionStore, id: string, options: SessionOptions): Promise<Session> {
  if ((await store.read(id)).length > 0)
    throw new Error(`Session "${id}" exists already; use loadSession(store, "${id}")`)
  return new StoredSession(withSpill(store), id, [], options)
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
  #epoch: number | undefined
  /** Somebody has asked for the right to write, or holds it. */
  #isTaken = false
  /** One addition at a time, so that they do not find each other in the way. */
  #additions: Promise<unknown> = Promise.resolve()
  /** Whether all that others wrote is known; before that nothing may be added. */
  #isReady = false
  #head = 0
  #stopRenewing: (() => void) | undefined
  #mayBeParked = false
  /** For whoever listens: somebody else writes this session now. */
  #onLost: ((error: LeaseLostError) => void) | undefined

  constructor(
    store: SessionStore,
    id: string,
    history: readonly LogEntry[],
    options: SessionOptions,
    parent?: StoredSession,
  ) {
    const { clock = systemClock, newId = createIds(), owner = 'libero' } = options
    this.id = id
    this.#store = store
    this.#options = { ...options, newId, owner }
    this.#clock = clock
    this.#owner = `${owner}#${newId()}` // a name for people, made one of a kind for the store
    this.#parent = parent
    this.#head = history.length
    this.log = new Log({ id, clock, newId, history, commit: (entries) => this.#commit(entries) })
  }

  get turns() {
    return this.log.transcript.settledTurns
  }

  get runs() {
    return this.log.transcript.runs
  }

  async open(): Promise<void> {
    await this.#additions
    await this.#acquire()
  }

  async #acquire(): Promise<void> {
    if (this.#parent) return
    if (this.#isTaken) throw new SessionBusyError(`Session ${this.id} is being written by another run of this process`)
    this.#isTaken = true
    try {
      await this.#take()
    } catch (error) {
      await this.release()
      throw error
    }
  }

  async #take(): Promise<void> {
    const { leaseMs: ttlMs = defaultLeaseMs, takeOver = false } = this.#options
    failpoint('lease.take.before')
    const { epoch, inbox } = await this.#store.lease(this.id, { owner: this.#owner, ttlMs, takeOver })
    failpoint('lease.take.after')
    this.#epoch = epoch
    this.#renewLater()
    if (this.log.isBroken) this.#reload(await this.#store.read(this.id))
    else this.#absorb(await this.#store.read(this.id, this.#head))
    this.#isReady = true
    await this.#settle()
    for (const item of inbox) await this.log.admit(item)
    const { parked } = this
    if (parked !== undefined && !this.#mayBeParked)
      throw new SessionParkedError(`Session ${this.id} is parked: ${parked}. Call session.unpark() to try it again`)
  }

  async release(): Promise<void> {
    while (this.log.isWriting) await this.log.settled() // what was accepted is written first
    this.#isReady = false
    this.#isTaken = false
    this.#stopRenewing?.()
    this.#stopRenewing = undefined
    if (this.#epoch === undefined) return
    const epoch = this.#epoch
    this.#epoch = undefined
    failpoint('lease.release.before')
    // Whoever took the session over meanwhile has nothing to be told.
    await this.#store.lease(this.id, { owner: this.#owner, ttlMs: 0, epoch }).catch(() => {})
  }

  async listen(signal: AbortSignal): Promise<void> {
    const delivering = this.#deliver(signal)
    delivering.catch(() => {}) // whoever lost the session does not wait for its messages
    await Promise.race([delivering, new Promise((_, reject) => (this.#onLost = reject))])
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
    checkMessages(messages)
    if (this.log.transcript.isLive)
      throw new Error('A run is under way; speak into it with agent.steer() or followUp()')
    const turns = repairPairs(messages).map(({ role, content }): EntryBody => {
      const about = { id: this.#options.newId!(), runId: '', createdAt: this.#clock.now() }
      return { type: 'turn', turn: { ...about, role, content: structuredClone(content) } }
    })
    await this.#whileOpen(async () => {
      const { openCalls } = this.log.transcript
      for (const { id } of openCalls) if (this.log.transcript.startOf(id)) await abandonChildren(this, id)
      const skipped = openCalls.map((call) => syntheticResult(call.id, 'skipped'))
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

  async tree(): Promise<readonly (readonly LogEntry[])[]> {
    const ids = [this.id, ...(await this.#descendants())]
    return Promise.all(ids.map((id) => this.#store.read(id)))
  }

  async #descendants(): Promise<readonly string[]> {
    const children = Map.groupBy(await this.#store.list(), ({ parent }) => parent)
    const ids = [this.id]
    for (const id of ids) for (const child of children.get(id) ?? []) ids.push(child.id)
    return ids.slice(1)
  }

  get pending(): readonly PendingCall[] {
    return pendingCalls(this.log.transcript)
  }

  async pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]> {
    const children = await Promise.all((await this.#descendants()).map((id) => this.#read(id)))
    return [this, ...children].flatMap(({ id, pending }) => pending.map((call) => ({ ...call, sessionId: id })))
  }

  async #read(id: string): Promise<StoredSession> {
    return new StoredSession(this.#store, id, await this.#store.read(id), this.#options)
  }

  async answer(callId: string, { decision, content, by, mac }: PendingAnswer): Promise<void> {
    if (decision === undefined && content === undefined)
      throw new TypeError(`An answer to "${callId}" needs a decision, "allow" or "deny", or a content`)
    // Somebody else may have written since; who asks first is answered by what is there now.
    const { pending } = this.#canWrite() ? this : await this.#read(this.id)
    const call = pending.find((one) => one.callId === callId)
    if (!call)
      throw new Error(
        `Session ${this.id}: no call "${callId}" waits for an answer; ${pending.map((one) => one.callId).join(', ') || 'none'} does`,
      )
    const { digest } = call
    await this.send({
      mode: 'answer',
      clientKey: `answer/${callId}/${digest}`, // one key for all answers: the first one counts
      content: readPrompt(content) ?? [],
      answer: { callId, digest, ...(decision && { decision }), ...(by && { by }), ...(mac && { mac }) },
    })
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
    return this.log.transcript.labels
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
    if (this.log.transcript.isLive) throw new Error('A run is under way; abort it before rewind()')
    await this.#whileOpen(() => {
      if (toSeq > this.log.head)
        throw new RangeError(`Session ${this.id} has ${this.log.head} entries; it cannot be rewound to ${toSeq}`)
      return this.log.append({ type: 'rewind', toSeq })
    })
  }

  async fork(atSeq?: number, { id = crypto.randomUUID() }: { id?: string } = {}): Promise<Session> {
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
      await this.#commit(past)
      this.log.absorb(past)
      await this.log.appendAll(ending)
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
      await this.release()
    }
  }

  async #commit(entries: readonly LogEntry[]): Promise<void> {
    await this.#store.append(this.id, entries, this.#fence())
    this.#head += entries.length
  }

  #fence(): Fence {
    if (this.#parent) {
      const { epoch, holder = this.#parent.id } = this.#parent.#fence()
      return { epoch, head: this.#head, holder, parent: this.#parent.id }
    }
    if (this.#epoch === undefined) throw new Error(`Session ${this.id} is not open for writing; call open() first`)
    return { epoch: this.#epoch, head: this.#head }
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
    const left = leftBehind(this.log.transcript)
    for (const entry of left) if (entry.type === 'call_result') await abandonChildren(this, entry.callId)
    if (left.length > 0) await this.log.appendAll(left)
  }

  #renewLater(): void {
    const { leaseMs: ttlMs = defaultLeaseMs } = this.#options
    this.#stopRenewing = this.#clock.timer(ttlMs / 3, () => {
      const epoch = this.#epoch
      if (epoch === undefined) return
      this.#store.lease(this.id, { owner: this.#owner, ttlMs, epoch }).then(
        () => this.#epoch === epoch && this.#renewLater(),
        (error) => {
          if (this.#epoch !== epoch) return
          // A lease that is lost ends what runs under it; anything else may pass, so it is tried again.
          if (error instanceof LeaseLostError) this.#onLost?.(error)
          else this.#renewLater()
        },
      )
    })
  }
}

function checkMessages(messages: unknown): asserts messages is readonly Message[] {
  if (!Array.isArray(messages)) throw new TypeError(`addTurns takes a list of messages, got ${show(messages)}`)
  for (const [i, message] of messages.entries()) {
    const { role, content } = (message ?? {}) as Partial<Message>
    if (role !== 'user' && role !== 'assistant')
      throw new TypeError(`addTurns: messages[${i}].role must be "user" or "assistant", got ${show(role)}`)
    if (!Array.isArray(content))
      throw new TypeError(
        `addTurns: messages[${i}].content must be blocks such as [{ type: 'text', text }], got ${show(content)}`,
      )
  }
}
