import { show } from '../core/behavior.ts'
import { SessionNotFoundError } from '../core/errors.ts'
import { closeAllChildCalls, closeChildCalls, isChildOf } from '../core/fork.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import { repairPairs } from '../core/pairing.ts'
import type { PendingAnswer, PendingCall, Session, SessionDetails, SessionStore } from '../core/store.ts'
import { syntheticResult } from '../core/tool-result.ts'
import { Transcript } from '../core/transcript.ts'
import type { Message } from '../core/turn.ts'
import { checkDetails, detailsIn } from './details.ts'
import { childNames, descendantsOf } from './family.ts'
import { LeasedLog, type SessionOptions } from './leased-log.ts'
import { createAnswerItem, pendingCalls, requireFirstAnswer } from './pending.ts'

/** Creates a session. */
export async function makeSession(
  store: SessionStore,
  id: string,
  options: SessionOptions & SessionDetails,
): Promise<Session> {
  checkDetails('createSession', options)
  if (await store.find(id)) throw new Error(`Session "${id}" exists already; use loadSession(store, "${id}")`)
  const session = new StoredSession(store, id, [], options)
  session.isNew = true
  session.details = detailsIn(options)
  return session
}

/** Loads an existing session. */
export async function readSession(store: SessionStore, id: string, options: SessionOptions): Promise<Session> {
  const history = await store.read(id)
  if (history.length === 0) throw new SessionNotFoundError(id)
  return new StoredSession(store, id, history, options)
}

/** A session in a store. */
class StoredSession extends LeasedLog implements Session {
  /** The names of the children found in the store, valid as long as this lease excludes other writers. */
  #foundChildren: { readonly epoch: number; readonly names: Promise<Set<string>> } | undefined
  readonly #madeChildren = new Set<string>()

  get turns() {
    return this.log.transcript.completeTurns
  }

  get runs() {
    return this.log.transcript.runs
  }

  async addTurns(messages: readonly Message[]): Promise<void> {
    const turns = turnEntries(messages, () => ({ id: this.options.newId!(), createdAt: this.clock.now() }))
    await this.whileOpen(async () => {
      if (this.log.transcript.isRunActive)
        throw new Error('A run is under way; speak into it with agent.steer() or followUp()')
      await closeAllChildCalls(this)
      const skipped = this.log.transcript.openCalls.map((call) => syntheticResult(call.id, 'skipped'))
      await this.log.appendAll([...skipped, ...turns])
    })
  }

  async setDetails(details: SessionDetails): Promise<void> {
    checkDetails('setDetails', details)
    await this.whileOpen(() => this.log.append({ type: 'details', ...details }))
  }

  async save(): Promise<void> {
    // An empty session must exist in the store too: it may be created here and loaded elsewhere.
    const created: EntryBody = { type: 'state', owner: 'session', value: { createdAt: this.clock.now() } }
    if (this.log.head === 0) await this.whileOpen(() => (this.log.head === 0 ? this.log.append(created) : undefined))
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
    await child.recover()
    if (child.log.head > 0) await child.collectInbox()
    return child
  }

  async childrenOf(...callIds: readonly string[]): Promise<readonly string[]> {
    const knownNames = await (this.canWrite() ? this.#knownChildren() : childNames(this.store, this.id))
    const names = [...new Set([...knownNames, ...this.#madeChildren])]
    return names.filter((name) => callIds.some((callId) => isChildOf(name, callId)))
  }

  /** Listed once per lease, because the store may hold many sessions. */
  #knownChildren(): Promise<Set<string>> {
    const { epoch } = this.fence()
    if (this.#foundChildren?.epoch === epoch) return this.#foundChildren.names
    const names = childNames(this.store, this.id)
    this.#foundChildren = { epoch, names }
    names.catch(() => {
      this.#foundChildren = undefined // the next call lists again
    })
    return names
  }

  async tree(): Promise<readonly (readonly LogEntry[])[]> {
    const sessions = [this, ...(await descendantsOf(this.store, this.id))]
    return Promise.all(sessions.map(({ id }) => this.store.read(id)))
  }

  get pending(): readonly PendingCall[] {
    return pendingCalls(this.log.transcript)
  }

  async pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]> {
    if (this.log.transcript.openCalls.length === 0) return [] // a child waits only while a call of this session waits for it
    const children = await Promise.all((await descendantsOf(this.store, this.id)).map(({ id }) => this.#read(id)))
    const waiting = [this, ...children].flatMap(({ id, pending }) =>
      pending.map((call) => ({ ...call, sessionId: id })),
    )
    // A call that waits for its child, or for its second child (`call~2`), is answered in the child.
    const isAbove = (id: string): boolean =>
      waiting.some(({ sessionId }) => [`${id}/`, `${id}~`].some((prefix) => `${sessionId}/`.startsWith(prefix)))
    return waiting.filter(({ sessionId, callId }) => !isAbove(`${sessionId}/${callId}`))
  }

  async #read(id: string): Promise<StoredSession> {
    return new StoredSession(this.store, id, await this.store.read(id), this.options)
  }

  async answer(callId: string, answer: PendingAnswer): Promise<void> {
    // Another writer may have changed the log since it was read.
    const { log } = this.canWrite() ? this : await this.#read(this.id)
    const item = createAnswerItem(log, callId, answer)
    if (!item) return
    await this.send(item)
    await requireFirstAnswer(item, log, this.store)
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
      if (this.log.transcript.isRunActive) throw new Error('A run is under way; abort it before rewind()')
      if (toSeq > this.log.head)
        throw new RangeError(`Session ${this.id} has ${this.log.head} entries; it cannot be rewound to ${toSeq}`)
      await closeAllChildCalls(this)
      await this.log.append({ type: 'rewind', toSeq })
    })
  }

  async fork(atSeq?: number, { id = this.options.newId!() }: { id?: string } = {}): Promise<Session> {
    const entries = await this.store.read(this.id)
    const at = atSeq ?? entries.length
    if (!Number.isInteger(at) || at < 0 || at > entries.length)
      throw new RangeError(`Session ${this.id} has ${entries.length} entries; it cannot be forked at ${show(at)}`)
    const session = (await makeSession(this.store, id, this.options)) as StoredSession
    const history = forkedHistory(entries, this.id, at)
    await session.#begin(history.entries, history.ending)
    return session
  }

  /** Starts this session with the history of another one. */
  #begin(history: readonly LogEntry[], ending: readonly EntryBody[]): Promise<void> {
    return this.whileOpen(async () => {
      if (this.log.head > 0) throw new Error(`Session "${this.id}" exists already; fork to another id`)
      const idAndTime = () => ({ id: this.options.newId!(), at: this.clock.now() })
      const added = ending.map((body, i): LogEntry => ({ ...body, seq: history.length + i + 1, ...idAndTime() }))
      const entries = [...history, ...added] // in one append: without its ending, the open run would be resumed here
      await this.commit(entries)
      this.log.addDurable(entries)
    })
  }

  protected answerChildCalls(callIds: readonly string[]): Promise<void> {
    return closeChildCalls(this, callIds)
  }
}

/** Converts given messages to entries, each call with a result. `idAndTime` gives each an id and a time. */
export function turnEntries(messages: unknown, idAndTime: () => { id: string; createdAt: number }): EntryBody[] {
  checkMessages(messages)
  return repairPairs(messages).map(({ role, content }) => ({
    type: 'turn',
    turn: { ...idAndTime(), runId: '', role, content: structuredClone(content) },
  }))
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

export interface ForkedHistory {
  readonly entries: readonly LogEntry[]
  /** Entries that complete the history for the new session. */
  readonly ending: readonly EntryBody[]
}

/**
 * The history that a fork shares. A turn that still waits for results is left out with all that follows it: its calls may
 * be running, and must not run in both sessions.
 */
export function forkedHistory(entries: readonly LogEntry[], from: string, atSeq: number): ForkedHistory {
  let shared = entries.slice(0, atSeq)
  const { turnWithOpenCalls } = replay(shared)
  if (turnWithOpenCalls)
    shared = shared.slice(
      0,
      shared.findLastIndex((entry) => entry.type === 'turn' && entry.turn.id === turnWithOpenCalls.id),
    )
  const { activeRun } = replay(shared)
  const origin: EntryBody = { type: 'state', owner: 'fork', value: { session: from, seq: shared.length } }
  if (!activeRun) return { entries: shared, ending: [origin] }
  // The messages of the run are delivered in the original session.
  const end = { status: 'aborted', stop: 'forked', dropsTo: shared.length } as const
  return { entries: shared, ending: [{ type: 'run_ended', runId: activeRun.id, ...end }, origin] }
}

function replay(entries: readonly LogEntry[]): Transcript {
  const transcript = new Transcript()
  for (const entry of entries) transcript.apply(entry)
  return transcript
}
