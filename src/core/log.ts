import type { ToolOrigin } from './authority.ts'
import { type Clock, createIds, systemClock } from './clock.ts'
import type { Meta } from './meta.ts'
import type { StopReason } from './provider.ts'
import type { ReplayClass } from './tool.ts'
import { Transcript } from './transcript.ts'
import { deepFreeze, type SessionContentBlock, type SessionTurn, type ToolOutput, type TurnUsage } from './turn.ts'

/** What a session remembers, in the order in which it became true. `seq` is dense and starts at 1. */
export type LogEntry = { readonly seq: number; readonly id: string; readonly at: number } & EntryBody

/** Entries of unknown types are kept and passed over. */
export type EntryBody =
  | {
      readonly type: 'run_started'
      readonly runId: string
      readonly model: string
      /** The agent's name. */
      readonly agent?: string
      readonly parent?: ParentCall
      /** Of the message that the run answers. */
      readonly meta?: Meta
    }
  /** A message taken out of the inbox; a later `turn` says when it was delivered. A `stop` is none: it ends the run. */
  | {
      readonly type: 'input'
      readonly mode: InputMode
      readonly clientKey: string
      readonly content: readonly SessionContentBlock[]
      /** The call that an `answer` is for. */
      readonly callId?: string
      readonly meta?: Meta
    }
  | { readonly type: 'attempt'; readonly runId: string; readonly turnId: string; readonly attempt: number }
  | {
      readonly type: 'turn'
      readonly turn: SessionTurn
      readonly stop?: StopReason
      /** Ids of the `input` entries that this turn delivers. */
      readonly consumed?: readonly string[]
      readonly clientKey?: string
    }
  | {
      readonly type: 'call_started'
      readonly callId: string
      readonly key: string
      readonly attempt: number
      readonly replay: ReplayClass
      /** Where the tool comes from; absent in logs of an older version. */
      readonly origin?: ToolOrigin
    }
  | {
      readonly type: 'call_result'
      readonly callId: string
      readonly output: ToolOutput
      readonly isError?: true
      readonly outcome: CallOutcome
      readonly details?: unknown
    }
  /** A call waits for somebody's permission. */
  | {
      readonly type: 'approval_requested'
      readonly callId: string
      readonly digest: string
      readonly reason?: string
      readonly request?: unknown
      /** An `allow` counts only if it is signed. */
      readonly signature?: WantedSignature
      /** Where the tool comes from; absent where there is no such tool. */
      readonly origin?: ToolOrigin
      /** What is called, where it is a tool that calls and no turn says so. */
      readonly call?: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
    }
  | {
      readonly type: 'approval_answered'
      readonly callId: string
      readonly digest: string
      readonly decision: 'allow' | 'deny' | 'expired'
      readonly by: string
      readonly mac?: string
      /** What was said with it. */
      readonly note?: readonly SessionContentBlock[]
      /** Of the message that brought it. */
      readonly clientKey?: string
      readonly meta?: Meta
    }
  /** A model call that left no turn: a summary, a title, a structured answer. */
  | { readonly type: 'usage'; readonly runId: string; readonly cause: string; readonly usage: TurnUsage }
  /** What an extension wants to find again; the latest of an owner counts. */
  | { readonly type: 'state'; readonly owner: string; readonly value: unknown }
  /** For the model, everything up to `toSeq` is replaced by `summary`. */
  | { readonly type: 'compaction'; readonly toSeq: number; readonly summary: readonly SessionContentBlock[] }
  /** For the model, one block is replaced, or hidden where `replacement` is absent; for one provider only if named. */
  | {
      readonly type: 'context_edit'
      readonly turnId: string
      readonly block: number
      readonly replacement?: SessionContentBlock
      readonly provider?: string
    }
  /** Turns after `toSeq` are no longer part of the conversation. */
  | { readonly type: 'rewind'; readonly toSeq: number }
  | { readonly type: 'checkpoint'; readonly ref: string }
  | { readonly type: 'label'; readonly text: string }
  /** Not to be tried any more, until somebody says otherwise. */
  | { readonly type: 'parked'; readonly reason: string }
  | { readonly type: 'unparked' }
  | {
      readonly type: 'run_ended'
      readonly runId: string
      readonly status: RunStatus
      readonly stop: string
      /** Of an aborted run: how far the log was when it was told to stop. */
      readonly stoppedAt?: number
      /** Messages accepted up to there are not for this session: a fork leaves them to the session that it came from. */
      readonly dropsTo?: number
      readonly error?: RunFailure
      readonly output?: unknown
    }

/** Why a run failed, for whoever reads the log later. */
export interface RunFailure {
  readonly name: string
  readonly message: string
  readonly providerCode?: string
  readonly retryable?: boolean
}

/** `stop` says nothing to the model: it aborts the run that is under way, wherever that is, and is void without one. */
export type InputMode = 'prompt' | 'steer' | 'followUp' | 'answer' | 'stop'

/** A message on its way into the log. The same `clientKey` again is the same message. */
export interface InboxItem {
  readonly clientKey: string
  readonly mode: InputMode
  readonly content: readonly SessionContentBlock[]
  /** With mode `answer`: which call it is for, and what was decided. */
  readonly answer?: CallAnswer
  readonly meta?: Meta
}

/** What somebody says about a call that waits: a decision about an approval, or, without one, the content of an answer. */
export interface CallAnswer {
  readonly callId: string
  readonly decision?: 'allow' | 'deny'
  /** What was approved; an answer to another digest does not count. */
  readonly digest?: string
  readonly by?: string
  readonly mac?: string
}

export type RunStatus = 'completed' | 'aborted' | 'error' | 'suspended'
export type CallOutcome =
  | 'done'
  | 'error'
  | 'timeout'
  | 'substituted'
  | 'blocked'
  | 'unknown_tool'
  | 'invalid'
  | 'aborted'
  | 'skipped'
  | 'cancelled'
  | 'unknown'

/** What an answer has to be signed with: the key of this id, else one that only the process that reads it knows. */
export interface WantedSignature {
  readonly keyId?: string
}

/** The call that a child agent works for. */
export interface ParentCall {
  readonly session?: string
  readonly runId: string
  readonly callId: string
}

export type EntryOf<Type extends EntryBody['type']> = Extract<LogEntry, { type: Type }>

/** Makes entries durable, all or none; `undefined` where nothing has to be waited for. */
export type Commit = (entries: readonly LogEntry[]) => Promise<void>

export interface LogOptions {
  /** The session's; calls are named after it in the world outside. */
  readonly id?: string
  readonly commit?: Commit
  readonly history?: readonly LogEntry[]
  /** Where the log stands already, for who keeps track himself of what came before. Default 0. */
  readonly after?: number
  readonly clock?: Clock
  readonly newId?: () => string
}

interface Append {
  readonly entries: readonly LogEntry[]
  readonly done: () => void
  readonly failed: (error: unknown) => void
}

/**
 * The one place where something becomes fact. `append` is all or nothing and comes back only after the commit; appends
 * made while a commit is under way share the next one, so that parallel calls do not queue for the disk one by one.
 */
export class Log {
  readonly id: string
  transcript = new Transcript()
  #head = 0
  #waiting: Append[] = []
  #writing: Promise<void> | undefined
  #broken: { readonly error: unknown } | undefined
  readonly #listeners = new Set<(entry: LogEntry) => void>()
  readonly #admitting = new Map<string, { readonly mode: InputMode; readonly writing: Promise<void> }>()
  readonly #commit: Commit | undefined
  readonly #clock: Clock
  readonly #newId: () => string

  constructor(options: LogOptions = {}) {
    const { commit, history = [], after = 0, clock = systemClock, newId = createIds(), id = newId() } = options
    this.id = id
    this.#head = after
    this.#commit = commit
    this.#clock = clock
    this.#newId = newId
    this.absorb(history)
  }

  get head(): number {
    return this.#head
  }

  /** Rejects when it cannot be written; whoever relies on the entry must then stop. */
  append(...bodies: EntryBody[]): Promise<void> | void {
    return this.appendAll(bodies)
  }

  /** The same for long lists, which cannot be passed as arguments. */
  appendAll(bodies: readonly EntryBody[]): Promise<void> | void {
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

  /** Takes a message in, once: a key that is known, or being written, changes nothing. */
  admit(item: InboxItem): Promise<void> | void {
    const { clientKey } = item
    if (this.transcript.hasClientKey(clientKey)) return
    const known = this.#admitting.get(clientKey)
    if (known) return known.writing
    const writing = this.append(entryOf(item))
    if (!writing) return
    const forget = (): boolean => this.#admitting.delete(clientKey)
    this.#admitting.set(clientKey, { mode: item.mode, writing })
    writing.then(forget, forget)
    return writing
  }

  /** Whether such a message is on its way into the log: it has been said, though it is not written yet. */
  isAdmitting(mode: InputMode): boolean {
    if (this.#admitting.size === 0) return false
    return [...this.#admitting.values()].some((one) => one.mode === mode)
  }

  /** Entries that were committed elsewhere: history read from a store, or what another writer added since. */
  absorb(entries: readonly LogEntry[], told = 0): void {
    for (const entry of entries) {
      if (entry.seq !== this.#head + 1)
        throw new Error(`The log has a gap: entry ${entry.seq} came after ${this.#head}; read it from its store again`)
      deepFreeze(entry)
      this.#apply(entry, told)
    }
  }

  /** A write failed, so what the store holds is unknown; only `reload` makes this log usable again. */
  get isBroken(): boolean {
    return this.#broken !== undefined
  }

  /** Starts over from what a store really holds. */
  reload(history: readonly LogEntry[]): void {
    const told = this.#head
    this.transcript = new Transcript()
    this.#head = 0
    this.#broken = undefined
    this.absorb(history, told)
  }

  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Resolves once nothing is waiting to be written any more. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  /** Called with each committed entry, and not awaited. */
  subscribe(listener: (entry: LogEntry) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #write(commit: Commit): Promise<void> {
    await null // what is appended in the same breath shares the first write
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      try {
        if (this.#broken) throw this.#broken.error
        let seq = this.#head
        // Sealed before it is stored: what cannot be sealed must not be half-way in.
        const entries = group.flatMap((append) => append.entries.map((entry) => deepFreeze({ ...entry, seq: ++seq })))
        failpoint('commit.before', entries)
        await commit(entries)
        failpoint('commit.after', entries)
        for (const entry of entries) this.#apply(entry)
      } catch (error) {
        // The outcome is unknown: only a fresh read of the store may go on from here.
        this.#broken = { error }
        for (const append of group) append.failed(error)
        continue
      }
      for (const append of group) append.done()
    }
    this.#writing = undefined
  }

  #apply(entry: LogEntry, told = 0): void {
    this.#head = entry.seq
    this.transcript.apply(entry)
    if (entry.seq > told) for (const listener of this.#listeners) tell(listener, entry)
  }
}

/** A message as it stands in the log. */
function entryOf({ clientKey, mode, content, answer, meta: given }: InboxItem): EntryBody {
  const meta = given && { meta: given }
  if (!answer) return { type: 'input', mode, clientKey, content, ...meta }
  const { callId, decision, digest = callId, by = 'somebody', mac } = answer
  if (!decision) return { type: 'input', mode, clientKey, content, callId, ...meta }
  const note = content.length > 0 && { note: content }
  return { type: 'approval_answered', callId, digest, decision, by, clientKey, ...note, ...(mac && { mac }), ...meta }
}

/** What became fact stays one, whatever a listener makes of it. */
function tell(listener: (entry: LogEntry) => void, entry: LogEntry): void {
  try {
    listener(entry)
  } catch (error) {
    console.error('libero: a listener of the log failed:', error)
  }
}

let handler: ((name: string) => void) | undefined

/**
 * A place where a crash would hurt. Nothing happens here, except in crash tests, which kill the process at each such
 * place in turn. Entries that are about to be written, or were, become part of the name.
 */
export function failpoint(name: string, entries?: readonly LogEntry[]): void {
  if (handler) handler(entries ? `${name}:${entries.map(({ type }) => type).join('+')}` : name)
}

/** For crash tests alone. */
export function onFailpoint(listener: ((name: string) => void) | undefined): void {
  handler = listener
}
