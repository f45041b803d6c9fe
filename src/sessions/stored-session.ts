import { show } from '../core/behavior.ts'
import { closeCallsInAllChildSessions, closeCallsInChildSessions, isChildOf } from '../core/children.ts'
import { SessionNotFoundError } from '../core/errors.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import type {
  EntryRange,
  PendingAnswer,
  PendingCall,
  Session,
  SessionDetails,
  SessionEntries,
  SessionStore,
  SessionSummary,
  TurnPage,
} from '../core/store.ts'
import { skippedResult } from '../core/tool-result.ts'
import type { Message } from '../core/turn.ts'
import type { NumberedTurn } from '../core/turn-list.ts'
import { checkDetails, checkNames, detailsIn } from './details.ts'
import { findEarlierTurn, readEarlierTurns } from './earlier-turns.ts'
import { childNames, childNamesFrom, eachDescendant } from './family.ts'
import { type ForkPoint, readForkPoint } from './fork-point.ts'
import { eachEntry, readHistory } from './history.ts'
import { LeasedLog, type SessionOptions } from './leased-log.ts'
import { createAnswerItem, pendingCalls, requireFirstAnswer } from './pending.ts'
import { turnEntries } from './turn-entries.ts'
import { withdraw } from './withdraw.ts'

/** Creates a session. */
export async function makeSession(
  store: SessionStore,
  id: string,
  options: SessionOptions & SessionDetails,
): Promise<Session> {
  checkDetails('createSession', options)
  if (await store.find(id)) throw new Error(`Session "${id}" exists already; use loadSession(store, "${id}")`)
  return newSession(store, id, options)
}

function newSession(store: SessionStore, id: string, options: SessionOptions & SessionDetails): StoredSession {
  const session = new StoredSession(store, id, { entries: [] }, options)
  session.isNew = true
  session.details = detailsIn(options)
  return session
}

/** Loads a session, or makes it if there is none. */
export async function openStored(
  store: SessionStore,
  id: string,
  options: SessionOptions & SessionDetails,
): Promise<Session> {
  checkDetails('openSession', options)
  const stored = await readStored(store, id, options)
  if (stored) return stored
  const session = newSession(store, id, options)
  session.mayExist = true
  return session
}

/** Loads an existing session. A caller that has just read its summary passes it, so that it is not read again. */
export async function readSession(
  store: SessionStore,
  id: string,
  options: SessionOptions,
  summary?: SessionSummary,
): Promise<Session> {
  const session = await readStored(store, id, options, undefined, summary)
  if (!session) throw new SessionNotFoundError(id)
  return session
}

async function readStored(
  store: SessionStore,
  id: string,
  options: SessionOptions,
  parent?: StoredSession,
  found?: SessionSummary,
): Promise<StoredSession | undefined> {
  const summary = found ?? (await store.find(id))
  if (!summary) return undefined
  const history = await readHistory(store, summary)
  try {
    return new StoredSession(store, id, history, options, parent)
  } catch (error) {
    if (!history.checkpoint) throw error
    return new StoredSession(store, id, { entries: await store.read(id) }, options, parent) // the checkpoint is damaged
  }
}

const turnsPerPage = 100

/** A session in a store. */
class StoredSession extends LeasedLog implements Session {
  /** The names of the children in the store, valid as long as this lease excludes other writers. */
  #foundChildren: { readonly epoch: number; readonly names: ReturnType<typeof childNames> } | undefined
  readonly #madeChildren = new Set<string>()

  get turns() {
    return this.log.transcript.completeTurns
  }

  get turnsBefore() {
    return this.log.transcript.turnsBefore
  }

  async readTurns({ before, limit = turnsPerPage }: { before?: number; limit?: number } = {}): Promise<TurnPage> {
    for (const [name, value] of Object.entries({ before, limit }))
      if (value !== undefined && !(Number.isInteger(value) && value > 0))
        throw new TypeError(`readTurns takes ${name} as a whole number of at least 1, got ${show(value)}`)
    return readEarlierTurns(this.store, this.id, { transcript: this.log.transcript, before, limit })
  }

  get runs() {
    return this.log.transcript.runs
  }

  async addTurns(messages: readonly Message[]): Promise<void> {
    const turns = turnEntries(messages, () => ({ id: this.options.newId!(), createdAt: this.clock.now() }))
    await this.withWriteAccess(async () => {
      if (this.log.transcript.isRunActive)
        throw new Error('A run is under way; speak into it with agent.steer() or followUp()')
      await closeCallsInAllChildSessions(this)
      const skipped = this.log.transcript.openCalls.map(({ id }) => skippedResult(this.log.transcript, id))
      await this.log.appendAll([...skipped, ...turns])
    })
  }

  async setDetails(details: SessionDetails): Promise<void> {
    checkDetails('setDetails', details)
    checkNames('setDetails', details)
    const given = detailsIn(details)
    if (given) await this.withWriteAccess(() => this.log.append({ type: 'details', ...given }))
  }

  async takeBack(clientKey: string): Promise<boolean> {
    let isTaken = false
    await this.withWriteAccess(async () => {
      isTaken = await withdraw(this.log, clientKey)
    })
    return isTaken
  }

  setState(owner: string, value: unknown): Promise<void> {
    return this.withWriteAccess(() => this.log.append({ type: 'state', owner, value }))
  }

  async save(): Promise<void> {
    // An empty session must exist in the store too: it may be created here and loaded elsewhere.
    const created: EntryBody = { type: 'state', owner: 'session', value: { createdAt: this.clock.now() } }
    if (this.log.head === 0)
      await this.withWriteAccess(() => (this.log.head === 0 ? this.log.append(created) : undefined))
    await this.log.flushed()
  }

  startRun({ runId, model }: { runId: string; model: string }): Promise<void> {
    if (typeof runId !== 'string' || runId === '') throw new TypeError(`startRun needs a runId, got ${show(runId)}`)
    this.ownRun = runId
    return this.withWriteAccess(() => this.log.append({ type: 'run_started', runId, model }))
  }

  completeRun(runId: string, stop = 'end'): Promise<void> {
    return this.withWriteAccess(() => this.log.append({ type: 'run_ended', runId, status: 'completed', stop }))
  }

  abortRun(runId: string): Promise<void> {
    return this.withWriteAccess(() => this.log.append({ type: 'run_ended', runId, status: 'aborted', stop: 'aborted' }))
  }

  async child(name: string): Promise<Session> {
    const id = `${this.id}/${name}`
    this.#madeChildren.add(name)
    const child = await this.#read(id, this)
    await child.recover()
    if (child.log.head > 0) await child.acceptChildInbox()
    return child
  }

  async childrenOf(...callIds: readonly string[]): Promise<readonly string[]> {
    const all = await (this.canWrite() ? this.#knownChildren() : childNames(this.store, this.id))
    const found = all ?? (await Promise.all(callIds.map((one) => childNamesFrom(this.store, this.id, one)))).flat()
    const names = [...new Set([...found, ...this.#madeChildren])]
    return names.filter((name) => callIds.some((callId) => isChildOf(name, callId)))
  }

  /** Listed once per lease. */
  #knownChildren(): ReturnType<typeof childNames> {
    const { epoch } = this.fence()
    if (this.#foundChildren?.epoch === epoch) return this.#foundChildren.names
    const names = childNames(this.store, this.id)
    this.#foundChildren = { epoch, names }
    names.catch(() => {
      this.#foundChildren = undefined // the next call lists again
    })
    return names
  }

  entries(range?: Pick<EntryRange, 'after' | 'before'>): AsyncIterable<LogEntry> {
    return eachEntry(this.store, this.id, range)
  }

  async *tree(): AsyncGenerator<SessionEntries, void> {
    yield this
    for await (const { id } of eachDescendant(this.store, this.id))
      yield { id, entries: (range) => eachEntry(this.store, id, range) }
  }

  get pending(): readonly PendingCall[] {
    return pendingCalls(this.log.transcript)
  }

  async pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]> {
    const waiting = await this.#pendingBelow()
    // A call that waits for its child, or for its second child (`call~2`), is answered in the child.
    const isAbove = (id: string): boolean =>
      waiting.some(({ sessionId }) => [`${id}/`, `${id}~`].some((prefix) => `${sessionId}/`.startsWith(prefix)))
    return waiting.filter(({ sessionId, callId }) => !isAbove(`${sessionId}/${callId}`))
  }

  /** A child waits only while a call of its parent waits for it. */
  async #pendingBelow(): Promise<readonly (PendingCall & { readonly sessionId: string })[]> {
    const open = this.log.transcript.openCalls.map(({ id }) => id)
    if (open.length === 0) return []
    const own = this.pending.map((call) => ({ ...call, sessionId: this.id }))
    const names = await this.childrenOf(...open)
    const below = names.map(async (name) => (await this.#read(`${this.id}/${name}`)).#pendingBelow())
    return [...own, ...(await Promise.all(below)).flat()]
  }

  /** A session as the store has it now; one without entries if there is none. */
  async #read(id: string, parent?: StoredSession): Promise<StoredSession> {
    const stored = await readStored(this.store, id, this.options, parent)
    return stored ?? new StoredSession(this.store, id, { entries: [] }, this.options, parent)
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
    this.opensEvenIfParked = true
    try {
      await this.withWriteAccess(() => (this.parked === undefined ? undefined : this.log.append({ type: 'unparked' })))
    } finally {
      this.opensEvenIfParked = false
    }
  }

  get labels() {
    return [...this.log.transcript.labels]
  }

  async label(text: string): Promise<number> {
    if (typeof text !== 'string' || text === '') throw new TypeError(`label takes a text, got ${show(text)}`)
    await this.withWriteAccess(() => this.log.append({ type: 'label', text }))
    return this.labels.findLast((label) => label.text === text)?.seq ?? this.log.head
  }

  async pin(turnId: string): Promise<void> {
    const { transcript } = this.log
    const isLoaded = transcript.seqOf(turnId) !== undefined
    const earlier = isLoaded ? undefined : await findEarlierTurn(this.store, this.id, { transcript, turnId })
    if (!isLoaded && !earlier)
      throw new Error(`Session ${this.id} has no turn "${turnId}" to pin; session.turns has those there are`)
    await this.#setPins((pins) => (pins.includes(turnId) ? pins : [...pins, turnId]), earlier)
  }

  unpin(turnId: string): Promise<void> {
    return this.#setPins((pins) => pins.filter((id) => id !== turnId))
  }

  #setPins(change: (pins: readonly string[]) => readonly string[], earlier?: NumberedTurn): Promise<void> {
    return this.withWriteAccess(() => {
      if (earlier) this.log.transcript.keep(earlier)
      const pins = (this.log.transcript.states.get('pins') ?? []) as readonly string[]
      const changed = change(pins)
      if (changed.length !== pins.length) return this.log.append({ type: 'state', owner: 'pins', value: changed })
    })
  }

  async rewind(toSeq: number): Promise<void> {
    if (!Number.isInteger(toSeq) || toSeq < 0)
      throw new TypeError(`rewind takes the number of a log entry, 0 for the beginning, got ${show(toSeq)}`)
    await this.withWriteAccess(async () => {
      if (this.log.transcript.isRunActive) throw new Error('A run is under way; abort it before rewind()')
      if (toSeq > this.log.head)
        throw new RangeError(`Session ${this.id} has ${this.log.head} entries; it cannot be rewound to ${toSeq}`)
      await closeCallsInAllChildSessions(this)
      if (!this.log.transcript.canRewindTo(toSeq)) await this.loadWholeLog()
      await this.log.append({ type: 'rewind', toSeq })
    })
  }

  async fork(
    atSeq?: number,
    { id = this.options.newId!(), details }: { id?: string; details?: SessionDetails } = {},
  ): Promise<Session> {
    const summary = (await this.store.find(this.id)) ?? { id: this.id, head: 0 }
    const { head } = summary
    const at = atSeq ?? head
    if (!Number.isInteger(at) || at < 0 || at > head)
      throw new RangeError(`Session ${this.id} has ${head} entries; it cannot be forked at ${show(at)}`)
    const session = (await makeSession(this.store, id, this.options)) as StoredSession
    await session.#begin(await readForkPoint(this.store, summary, at), this.id, details)
    return session
  }

  /** Starts this session with entries that it shares with another one. */
  #begin({ history, head, ending }: ForkPoint, base: string, details: SessionDetails | undefined): Promise<void> {
    return this.withWriteAccess(async () => {
      if (this.log.head > 0) throw new Error(`Session "${this.id}" exists already; fork to another id`)
      const idAndTime = () => ({ id: this.options.newId!(), at: this.clock.now() })
      // In one append: without its ending, the open run would be resumed here.
      const bodies: readonly EntryBody[] = details ? [...ending, { type: 'details', ...details }] : ending
      const added = bodies.map((body, i): LogEntry => ({ ...body, seq: head + i + 1, ...idAndTime() }))
      await this.appendFirstOfFork({ base, head, added })
      this.reloadLog({ ...history, entries: [...history.entries, ...added] })
    })
  }

  protected closeCallsInChildSessions(callIds: readonly string[]): Promise<void> {
    return closeCallsInChildSessions(this, callIds)
  }
}
