import { show } from '../core/behavior.ts'
import { abandonChildren, abandonOpenCalls, isChildOf } from '../core/fork.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import type { PendingAnswer, PendingCall, Session, SessionStore } from '../core/store.ts'
import { syntheticResult } from '../core/tool-result.ts'
import type { Message } from '../core/turn.ts'
import { addedTurns } from './added-turns.ts'
import { answerTo, requireFirst } from './answer.ts'
import { childNames, descendantsOf } from './family.ts'
import { forkedPast } from './forked-entries.ts'
import { LeasedLog, type SessionOptions } from './leased-log.ts'
import { pendingCalls } from './pending.ts'
import { withSpill } from './spill.ts'

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

/** A session in a store: what can be done with a log, beside writing it. */
class StoredSession extends LeasedLog implements Session {
  /** Names of the children that were there when somebody asked, for as long as nobody else may make one. */
  #foundChildren: { readonly epoch: number; readonly names: Promise<Set<string>> } | undefined
  readonly #madeChildren = new Set<string>()

  get turns() {
    return this.log.transcript.completeTurns
  }

  get runs() {
    return this.log.transcript.runs
  }

  async addTurns(messages: readonly Message[]): Promise<void> {
    const turns = addedTurns(messages, () => ({ id: this.options.newId!(), createdAt: this.clock.now() }))
    await this.whileOpen(async () => {
      if (this.log.transcript.isLive)
        throw new Error('A run is under way; speak into it with agent.steer() or followUp()')
      await abandonOpenCalls(this)
      const skipped = this.log.transcript.openCalls.map((call) => syntheticResult(call.id, 'skipped'))
      await this.log.appendAll([...skipped, ...turns])
    })
  }

  async save(): Promise<void> {
    // A session without a word must exist too: it may be created here and loaded elsewhere.
    const created: EntryBody = { type: 'state', owner: 'session', value: { createdAt: this.clock.now() } }
    if (this.log.head === 0) await this.whileOpen(() => this.log.append(created))
    await this.log.flushed()
  }

  startRun({ runId, model }: { runId: string; model: string }): Promise<void> {
    if (typeof runId !== 'string' || runId === '') throw new TypeError(`startRun needs a runId, got ${show(runId)}`)
    this.ownRun = runId
    return this.whileOpen(() => this.log.append({ type: 'run_started', runId, model }))
  }

  completeRun(runId: string, stop = 'end'): Promise<void> {
    return this.whileOpen(() => this.log.append({ type: 'run_ended', runId, status: 'completed', stop }))
  }

  abortRun(runId: string): Promise<void> {
    return this.whileOpen(() => this.log.append({ type: 'run_ended', runId, status: 'aborted', stop: 'aborted' }))
  }

  async child(name: string): Promise<Session> {
    const id = `${this.id}/${name}`
    this.#madeChildren.add(name)
    const child = new StoredSession(this.store, id, await this.store.read(id), this.options, this)
    await child.settle()
    if (child.log.head > 0) await child.collect()
    return child
  }

  async childrenOf(...callIds: readonly string[]): Promise<readonly string[]> {
    const found = await (this.canWrite() ? this.#knownChildren() : childNames(this.store, this.id))
    const names = [...new Set([...found, ...this.#madeChildren])]
    return names.filter((name) => callIds.some((callId) => isChildOf(name, callId)))
  }

  /** The store may hold many sessions: who is the only one to make children looks once. */
  #knownChildren(): Promise<Set<string>> {
    const { epoch } = this.fence()
    if (this.#foundChildren?.epoch === epoch) return this.#foundChildren.names
    const names = childNames(this.store, this.id)
    this.#foundChildren = { epoch, names }
    names.catch(() => {
      this.#foundChildren = undefined // the next one looks again
    })
    return names
  }

  async tree(): Promise<readonly (readonly LogEntry[])[]> {
    const ids = [this.id, ...(await descendantsOf(this.store, this.id))]
    return Promise.all(ids.map((id) => this.store.read(id)))
  }

  get pending(): readonly PendingCall[] {
    return pendingCalls(this.log.transcript)
  }

  async pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]> {
    if (this.log.transcript.openCalls.length === 0) return [] // a child waits only while a call of ours waits for it
    const children = await Promise.all((await descendantsOf(this.store, this.id)).map((id) => this.#read(id)))
    const waiting = [this, ...children].flatMap(({ id, pending }) =>
      pending.map((call) => ({ ...call, sessionId: id })),
    )
    // A call that waits for its child, or for its second (`call~2`), is answered there.
    const isAbove = (id: string): boolean =>
      waiting.some(({ sessionId }) => [`${id}/`, `${id}~`].some((place) => `${sessionId}/`.startsWith(place)))
    return waiting.filter(({ sessionId, callId }) => !isAbove(`${sessionId}/${callId}`))
  }

  async #read(id: string): Promise<StoredSession> {
    return new StoredSession(this.store, id, await this.store.read(id), this.options)
  }

  async answer(callId: string, answer: PendingAnswer): Promise<void> {
    // Somebody else may have written since; who asks first is answered by what is there now.
    const { log } = this.canWrite() ? this : await this.#read(this.id)
    const item = answerTo(log, callId, answer)
    if (!item) return
    await this.send(item)
    await requireFirst(item, log, this.store)
  }

  get parked(): string | undefined {
    return this.log.transcript.parked
  }

  async unpark(): Promise<void> {
    this.mayBeParked = true
    try {
      await this.whileOpen(() => (this.parked === undefined ? undefined : this.log.append({ type: 'unparked' })))
    } finally {
      this.mayBeParked = false
    }
  }

  get labels() {
    return [...this.log.transcript.labels]
  }

  async label(text: string): Promise<number> {
    if (typeof text !== 'string' || text === '') throw new TypeError(`label takes a text, got ${show(text)}`)
    await this.whileOpen(() => this.log.append({ type: 'label', text }))
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
    return this.whileOpen(() => {
      const pins = (this.log.transcript.states.get('pins') ?? []) as readonly string[]
      const changed = change(pins)
      if (changed.length !== pins.length) return this.log.append({ type: 'state', owner: 'pins', value: changed })
    })
  }

  async rewind(toSeq: number): Promise<void> {
    if (!Number.isInteger(toSeq) || toSeq < 0)
      throw new TypeError(`rewind takes the number of a log entry, 0 for the beginning, got ${show(toSeq)}`)
    await this.whileOpen(async () => {
      if (this.log.transcript.isLive) throw new Error('A run is under way; abort it before rewind()')
      if (toSeq > this.log.head)
        throw new RangeError(`Session ${this.id} has ${this.log.head} entries; it cannot be rewound to ${toSeq}`)
      await abandonOpenCalls(this)
      await this.log.append({ type: 'rewind', toSeq })
    })
  }

  async fork(atSeq?: number, { id = this.options.newId!() }: { id?: string } = {}): Promise<Session> {
    const entries = await this.store.read(this.id)
    const at = atSeq ?? entries.length
    if (!Number.isInteger(at) || at < 0 || at > entries.length)
      throw new RangeError(`Session ${this.id} has ${entries.length} entries; it cannot be forked at ${show(at)}`)
    const session = (await makeSession(this.store, id, this.options)) as StoredSession
    const past = forkedPast(entries, this.id, at)
    await session.#begin(past.entries, past.ending)
    return session
  }

  /** Takes over another session's past. */
  #begin(past: readonly LogEntry[], ending: readonly EntryBody[]): Promise<void> {
    return this.whileOpen(async () => {
      if (this.log.head > 0) throw new Error(`Session "${this.id}" exists already; fork to another id`)
      const about = () => ({ id: this.options.newId!(), at: this.clock.now() })
      const added = ending.map((body, i): LogEntry => ({ ...body, seq: past.length + i + 1, ...about() }))
      const entries = [...past, ...added] // at once: a past without its ending would go on where another run stopped
      await this.commit(entries)
      this.log.absorb(entries)
    })
  }

  protected giveUpChildren(callIds: readonly string[]): Promise<void> {
    return abandonChildren(this, callIds)
  }
}
