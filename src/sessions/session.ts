import { show } from '../core/behavior.ts'
import { type Clock, createIds, systemClock } from '../core/clock.ts'
import { LeaseLostError, SessionBusyError } from '../core/errors.ts'
import { type EntryBody, type InboxItem, Log, type LogEntry } from '../core/log.ts'
import { repairPairs } from '../core/pairing.ts'
import type { Fence, Session, SessionStore } from '../core/store.ts'
import { syntheticResult } from '../core/synthetic-result.ts'
import type { Message } from '../core/turn.ts'
import { createMemoryStore } from './memory-store.ts'

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

/** A new session. Without a store it lives as long as the process. */
export async function createSession({
  store = createMemoryStore(),
  id = crypto.randomUUID(),
  ...options
}: SessionOptions & { store?: SessionStore; id?: string } = {}): Promise<Session> {
  if (typeof store?.append !== 'function' || typeof store.read !== 'function')
    throw new TypeError(`createSession needs a SessionStore such as createMemoryStore(), got ${show(store)}`)
  if ((await store.read(id)).length > 0)
    throw new Error(`Session "${id}" exists already; use loadSession(store, "${id}")`)
  return new StoredSession(store, id, [], options)
}

/** A session that was begun before, with all its turns and runs. */
export async function loadSession(store: SessionStore, id: string, options: SessionOptions = {}): Promise<Session> {
  const history = await store.read(id)
  if (history.length === 0) throw new Error(`There is no session "${id}" in this store; list() names those it has`)
  return new StoredSession(store, id, history, options)
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
    const { epoch, inbox } = await this.#store.lease(this.id, { owner: this.#owner, ttlMs, takeOver })
    this.#epoch = epoch
    this.#renewLater()
    if (this.log.isBroken) this.#reload(await this.#store.read(this.id))
    else this.#absorb(await this.#store.read(this.id, this.#head))
    this.#isReady = true
    await this.#settle()
    for (const item of inbox) await this.log.admit(item)
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
    // Whoever took the session over meanwhile has nothing to be told.
    await this.#store.lease(this.id, { owner: this.#owner, ttlMs: 0, epoch }).catch(() => {})
  }

  async listen(signal: AbortSignal): Promise<void> {
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
    await this.#whileOpen(() => {
      const skipped = this.log.transcript.openCalls.map((call) => syntheticResult(call.id, 'skipped'))
      return this.log.appendAll([...skipped, ...turns])
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
    return child
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

  /**
   * What a process left behind when it died. Of a call that had begun we cannot know what it did, and say so; pure and
   * keyed calls stay open and run again, as do those that never began.
   */
  async #settle(): Promise<void> {
    const { transcript } = this.log
    const run = transcript.activeRun
    if (!run) return
    const lost = transcript.openCalls.filter(
      ({ id }) => transcript.wasInterrupted(id) && transcript.startOf(id)?.replay === 'opaque',
    )
    const results = lost.map((call) => syntheticResult(call.id, 'unknown'))
    await this.log.append(...results, { type: 'run_ended', runId: run.id, status: 'error', stop: 'crashed' })
  }

  #renewLater(): void {
    const { leaseMs: ttlMs = defaultLeaseMs } = this.#options
    this.#stopRenewing = this.#clock.timer(ttlMs / 3, () => {
      const epoch = this.#epoch
      if (epoch === undefined) return
      this.#store.lease(this.id, { owner: this.#owner, ttlMs, epoch }).then(
        () => this.#epoch === epoch && this.#renewLater(),
        // A lease that is lost shows at the next append; anything else may pass, so it is tried again.
        (error) => this.#epoch === epoch && !(error instanceof LeaseLostError) && this.#renewLater(),
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
