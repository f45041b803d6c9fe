import { type Clock, createIds, systemClock } from './clock.ts'
import type { EntryBody, EntryOf, InboxItem, InputMode, LogEntry } from './log-entry.ts'
import { Transcript } from './transcript.ts'
import { deepFreeze } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

export type * from './log-entry.ts'

/** Makes entries durable, all or none. */
type Commit = (entries: readonly LogEntry[]) => Promise<void>

interface LogOptions {
  /** The id of the session. It is part of the idempotency keys of calls. */
  readonly id?: string
  readonly commit?: Commit
  readonly history?: LogHistory
  /** The head of a log whose entries are not loaded, if there is no `history`. Default 0. */
  readonly after?: number
  readonly clock?: Clock
  readonly newId?: () => string
  /** Asks the store whether a message with this key is in the part of the log before the last checkpoint. */
  readonly isLogged?: (clientKey: string) => Promise<boolean>
  /** Called after each commit with the committed entries. May return an entry to write next, before the appends that wait: a checkpoint, for instance. */
  readonly entryAfter?: (written: readonly LogEntry[]) => EntryBody | undefined
}

/** What a log begins with. */
export interface LogHistory {
  readonly entries: readonly LogEntry[]
  /** For a log that is opened from a checkpoint: the transcript up to and including entry `upTo`. `entries` are those after it. */
  readonly checkpoint?: { readonly transcript: Transcript; readonly upTo: number } | undefined
}

interface Append {
  readonly entries: readonly LogEntry[]
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

/**
 * The entries of a session. `append` writes all of its entries or none and resolves after the commit; without a `commit`
 * it applies them at once and returns nothing. Appends made while a commit is under way share the next commit, so that
 * concurrent calls do not wait for the disk one by one.
 */
export class Log {
  readonly id: string
  transcript = new Transcript()
  #head = 0
  #waiting: Append[] = []
  #writing: Promise<void> | undefined
  #broken: { readonly error: unknown } | undefined
  readonly #listeners = new Set<(entry: LogEntry) => void>()
  readonly #inputsBeingWritten = new Map<string, { readonly mode: InputMode; readonly writing: Promise<void> }>()
  /** The ids of messages that are being taken back: no turn delivers them. */
  readonly withdrawing: Set<string> = new Set()
  readonly #commit: Commit | undefined
  readonly #isLogged: LogOptions['isLogged']
  readonly #entryAfter: LogOptions['entryAfter']
  readonly #clock: Clock
  readonly #newId: () => string

  constructor(options: LogOptions = {}) {
    const { commit, history, after = 0, clock = systemClock, newId = createIds(), id = newId() } = options
    this.id = id
    this.#head = after
    this.#commit = commit
    this.#isLogged = options.isLogged
    this.#entryAfter = options.entryAfter
    this.#clock = clock
    this.#newId = newId
    if (history) this.#begin(history)
  }

  #begin({ checkpoint, entries }: LogHistory, lastNotifiedSeq = 0): void {
    this.transcript = checkpoint?.transcript ?? new Transcript()
    this.#head = checkpoint?.upTo ?? 0
    this.addDurable(entries, lastNotifiedSeq)
  }

  get head(): number {
    return this.#head
  }

  /** Rejects if the entries cannot be written; a caller that relies on them must then stop. */
  append(...bodies: EntryBody[]): MaybePromise<void> {
    return this.appendAll(bodies)
  }

  /** `append` for lists that are too long to be passed as arguments. */
  appendAll(bodies: readonly EntryBody[]): MaybePromise<void> {
    const at = this.#clock.now()
    if (!this.#commit) {
      for (const body of bodies) this.#apply(deepFreeze({ ...body, seq: this.#head + 1, id: this.#newId(), at }))
      return
    }
    const entries = bodies.map((body) => ({ ...body, seq: 0, id: this.#newId(), at }))
    return new Promise((done, failed) => {
      this.#waiting.push({ entries, done, failed })
      this.#writing ??= this.#write(this.#commit!)
    })
  }

  /** Logs a message once: a message whose key is in the log, or is being written, is ignored. */
  accept(item: InboxItem): MaybePromise<void> {
    const { clientKey } = item
    const underWay = this.#inputsBeingWritten.get(clientKey)
    if (underWay) return underWay.writing
    const duplicateCheck = this.hasAccepted(clientKey) // a promise if the store must be asked
    if (duplicateCheck === true) return
    const writing = duplicateCheck ? this.#appendUnless(duplicateCheck, item) : this.append(entryOf(item))
    if (!writing) return
    const forget = (): boolean => this.#inputsBeingWritten.delete(clientKey)
    this.#inputsBeingWritten.set(clientKey, { mode: item.mode, writing })
    writing.then(forget, forget)
    return writing
  }

  async #appendUnless(duplicateCheck: PromiseLike<boolean>, item: InboxItem): Promise<void> {
    if (!(await duplicateCheck)) await this.append(entryOf(item))
  }

  /** The messages that wait for a turn, without those that are being taken back. */
  get deliverable(): readonly EntryOf<'input'>[] {
    const { inbox } = this.transcript
    return this.withdrawing.size === 0 ? inbox : inbox.filter(({ id }) => !this.withdrawing.has(id))
  }

  /** Whether the log has a message with this key. */
  hasAccepted(clientKey: string): MaybePromise<boolean> {
    const { clientKeys, olderKeys } = this.transcript
    if (clientKeys.has(clientKey)) return true
    return this.#isLogged && olderKeys?.mayHave(clientKey) ? this.#lookUp(clientKey, this.#isLogged) : false
  }

  async #lookUp(clientKey: string, isLogged: NonNullable<LogOptions['isLogged']>): Promise<boolean> {
    const isFound = await isLogged(clientKey)
    if (isFound) this.transcript.clientKeys.add(clientKey)
    return isFound
  }

  /** Whether a message of this mode is being written. */
  isWritingMessage(mode: InputMode): boolean {
    if (this.#inputsBeingWritten.size === 0) return false
    return [...this.#inputsBeingWritten.values()].some((input) => input.mode === mode)
  }

  /** Adds entries that are already durable: history from a store, or entries of another writer. Listeners get the entries after `lastNotifiedSeq`. */
  addDurable(entries: readonly LogEntry[], lastNotifiedSeq = 0): void {
    for (const entry of entries) {
      if (entry.seq !== this.#head + 1)
        throw new Error(`The log has a gap: entry ${entry.seq} came after ${this.#head}; read it from its store again`)
      deepFreeze(entry)
      this.#apply(entry, lastNotifiedSeq)
    }
  }

  /** Whether a write has failed. The content of the store is then unknown; only `reload` makes this log usable again. */
  get isBroken(): boolean {
    return this.#broken !== undefined
  }

  /** Starts again with what the store has. Listeners get the entries that are new. */
  reload(history: LogHistory): void {
    this.#broken = undefined
    this.#begin(history, this.#head)
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Resolves once all appended entries are written. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  /** Calls `listener` with each committed entry, without awaiting it. Returns a function that removes it. */
  subscribe(listener: (entry: LogEntry) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #write(commit: Commit): Promise<void> {
    await null // appends of the same tick share the first write
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      try {
        if (this.#broken) throw this.#broken.error
        let seq = this.#head
        // Frozen before they are stored: entries that cannot be frozen must not be stored.
        const entries = group.flatMap((append) => append.entries.map((entry) => deepFreeze({ ...entry, seq: ++seq })))
        failpoint('commit.before', entries)
        await commit(entries)
        failpoint('commit.after', entries)
        for (const entry of entries) this.#apply(entry)
        this.#writeNext(this.#entryAfter?.(entries))
      } catch (error) {
        // It is unknown what was stored: the log has to be read from the store again.
        this.#broken = { error }
        for (const append of group) append.failed(error)
        continue
      }
      for (const append of group) append.done()
    }
    this.#writing = undefined
  }

  /** Puts an entry before the appends that wait. If it cannot be written, the log is broken, and those appends fail too. */
  #writeNext(body: EntryBody | undefined): void {
    if (!body) return
    const ignore = (): void => {}
    const entry = { ...body, seq: 0, id: this.#newId(), at: this.#clock.now() }
    this.#waiting.unshift({ entries: [entry], done: ignore, failed: ignore })
  }

  #apply(entry: LogEntry, lastNotifiedSeq = 0): void {
    this.#head = entry.seq
    this.transcript.apply(entry)
    if (entry.seq > lastNotifiedSeq) for (const listener of this.#listeners) tell(listener, entry)
  }
}

/** The entry of a message. */
function entryOf({ clientKey, mode, content, answer, meta: given }: InboxItem): EntryBody {
  const meta = given && { meta: given }
  if (!answer) return { type: 'input', mode, clientKey, content, ...meta }
  const { callId, decision, digest = callId, by = 'unknown', scope, where, edits, rule, mac } = answer
  if (!decision) return { type: 'input', mode, clientKey, content, callId, ...meta }
  const note = content.length > 0 && { note: content }
  const grantFields = {
    ...(scope && { scope }),
    ...(where && { where }),
    ...(edits && { edits }),
    ...(rule && { rule }),
  }
  const signed = { ...grantFields, ...(mac && { mac }) }
  return { type: 'approval_answered', callId, digest, decision, by, clientKey, ...note, ...signed, ...meta }
}

/** A failing listener must not make a committed append fail. */
function tell(listener: (entry: LogEntry) => void, entry: LogEntry): void {
  try {
    listener(entry)
  } catch (error) {
    console.error('libero: a listener of the log failed:', error)
  }
}

let handler: ((name: string) => void) | undefined

/**
 * A point at which crash tests may kill the process; otherwise it does nothing. The types of the entries that are about to be
 * written, or were, become part of the name.
 */
export function failpoint(name: string, entries?: readonly LogEntry[]): void {
  if (handler) handler(entries ? `${name}:${entries.map(({ type }) => type).join('+')}` : name)
}

/** For crash tests alone. */
export function onFailpoint(listener: ((name: string) => void) | undefined): void {
  handler = listener
}
