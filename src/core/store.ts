import type { ApprovalScope } from './authority.ts'
import type { EditDecision } from './edit-outcomes.ts'
import type { LeaseLostError } from './errors.ts'
import type { InboxItem, Log, LogEntry, WantedSignature } from './log.ts'
import type { Meta } from './meta.ts'
import type { RunRecord } from './run-record.ts'
import type { SessionDetails, SessionPage, SessionQuery, SessionSummary } from './session-summary.ts'
import type { Message, SessionContentBlock, SessionTurn } from './turn.ts'

export type * from './session-summary.ts'

/** A log that outlives the process, with the operations that agents and embedders use. */
export interface Session {
  readonly id: string
  /** Where the session is stored. Absent if an embedder implements the session itself. */
  readonly store?: SessionStore
  /** Identifies this process in the log, among all that use the store. */
  readonly processId?: string
  readonly log: Log
  /** The turns that are loaded: at least those that the next request holds. */
  readonly turns: readonly SessionTurn[]
  /** The number of turns in the conversation before these. */
  readonly turnsBefore: number
  /** Reads turns before those that are loaded. The first page has the latest of these earlier turns. */
  readTurns(options?: {
    /** The `next` of the page before. */
    readonly before?: number
    /** Default 100. */
    readonly limit?: number
  }): Promise<TurnPage>
  /** Oldest first. A session that was opened from a checkpoint has the latest ones. */
  readonly runs: readonly RunRecord[]
  /** Adds turns outside a run, for instance a user's message that a later run without a prompt answers. */
  addTurns(messages: readonly Message[]): Promise<void>
  /** Sets the title, tags and other details; `undefined` leaves a detail as it is. */
  setDetails(details: SessionDetails): Promise<void>
  /** Writes a value of the host program, as plain data; the latest one of an owner counts (`log.transcript.states`). */
  setState(owner: string, value: unknown): Promise<void>
  /** Resolves once everything is durable. Turns are written as they happen, so this only waits. */
  save(): Promise<void>
  /** Takes the lease, reads what other processes wrote, and repairs what a crash left. */
  open(): Promise<void>
  /** Sends a message to the run that writes this session, in this process or another. Resolves once it is durable. */
  send(item: InboxItem): Promise<void>
  /** Takes back a message that no turn has delivered. False if there is no such message, or the model gets it. */
  takeBack(clientKey: string): Promise<boolean>
  /** Moves messages of other processes into the log, until `signal` aborts. */
  listen(signal: AbortSignal, onLost?: (error: LeaseLostError) => void): Promise<void>
  /** Gives the lease back. A second call does nothing. */
  release(): Promise<void>
  startRun(run: { runId: string; model: string }): Promise<void>
  completeRun(runId: string, stop?: string): Promise<void>
  abortRun(runId: string): Promise<void>
  /** The session of a child agent, under the lease of this session. */
  child(name: string): Promise<Session>
  /** The names of the children that these calls started, directly or through nested calls. */
  childrenOf(...callIds: readonly string[]): Promise<readonly string[]>
  /** The entries of its log, which are read in pages. */
  entries(range?: Pick<EntryRange, 'after' | 'before'>): AsyncIterable<LogEntry>
  /** This session, then all descendants. */
  tree(): AsyncIterable<SessionEntries>

  /** Calls that wait for a person. */
  readonly pending: readonly PendingCall[]
  /** Includes the calls of all descendants. */
  pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]>
  /** Answers a call that waits, from any process. The first answer counts. */
  answer(callId: string, answer: PendingAnswer): Promise<void>
  /** Why no run may be started in this session; absent unless it is parked. */
  readonly parked: string | undefined
  /** Allows runs in a parked session again. */
  unpark(): Promise<void>

  /** Labels the head of the log, for people and for `fork`. Resolves with the number of that entry. */
  label(text: string): Promise<number>
  readonly labels: readonly { readonly seq: number; readonly at: number; readonly text: string }[]
  /** A summary keeps a pinned turn verbatim. */
  pin(turnId: string): Promise<void>
  unpin(turnId: string): Promise<void>
  /** Turns after entry `toSeq` are no longer part of the conversation; the raw log keeps them. */
  rewind(toSeq: number): Promise<void>
  /** A new session with the same entries up to `atSeq`. */
  fork(atSeq?: number, options?: { readonly id?: string; readonly details?: SessionDetails }): Promise<Session>
}

/** Turns of a conversation, in their order. */
export interface TurnPage {
  readonly turns: readonly SessionTurn[]
  /** The `before` for the turns before these; absent if there are none. */
  readonly next?: number
}

/** The log of a session, for reading. */
export type SessionEntries = Pick<Session, 'id' | 'entries'>

/** Stores sessions. `storeContract` of `libero/testing` tests what each method must do. */
export interface SessionStore {
  /**
   * Appends all entries or none after `fence.head`, for the holder of `fence.epoch`. Repeating a successful append
   * succeeds. In the same transaction, an `input` entry removes the message with its `clientKey` from the inbox, and the
   * summary of the session changes.
   */
  append(sessionId: string, entries: readonly LogEntry[], fence: Fence): Promise<void>
  /** Whole entries in their order; none if there is no such session. How the store keeps large ones is its own business. */
  read(sessionId: string, range?: EntryRange): Promise<readonly LogEntry[]>
  /** The summary of a session; undefined if it has no entry. Reads no log. */
  find(sessionId: string): Promise<SessionSummary | undefined>
  /** One page of the sessions that have an entry. Reads no log, and takes time only for the sessions of the page. */
  list(query?: SessionQuery): Promise<SessionPage>
  /** Deletes the session with its children, inbox and blobs. */
  delete(sessionId: string): Promise<void>
  /**
   * Takes (without `epoch`), renews or gives back (`ttlMs` 0) the lease. To take the lease raises the epoch. Rejects with
   * SessionNotFoundError if there is no such session, unless `create` is set.
   */
  lease(sessionId: string, request: LeaseRequest): Promise<Lease>
  /**
   * Puts a message into the session's inbox. Needs no lease. A second message with the same `clientKey` is ignored. Rejects
   * with SessionNotFoundError if there is no such session.
   */
  send(sessionId: string, item: InboxItem): Promise<void>
  /**
   * Yields the entries after `after` and the messages of the inbox: first those that exist, then each change. Unless
   * `inboxOnly` is set, rejects with SessionNotFoundError when the session is deleted, or has no entry `after`.
   */
  watch(sessionId: string, options: WatchOptions): AsyncIterable<StoreChange>
  /** Stores large outputs, which are written before the entry that refers to them. */
  blobs(sessionId: string): BlobStore
  /** Only one process may use the store at a time. Default false. */
  readonly isOneProcess?: boolean
  /** Identifies the store across restarts, so that a session is not continued in another store. */
  identity?(): Promise<string>
  /** Closes files and connections. A second call does nothing. */
  close?(): Promise<void>
}

/** Which entries to read. Without `limit`: all that match. */
export interface EntryRange {
  /** Only entries with a higher number. Default 0. */
  readonly after?: number
  /** Only entries with a lower number. */
  readonly before?: number
  readonly limit?: number
  /** With `limit`: the last entries that match, not the first. The order stays ascending. */
  readonly fromEnd?: boolean
}

export interface WatchOptions {
  readonly after?: number
  readonly signal: AbortSignal
  /** Only messages; the entries of each change are empty. For the writer, which knows its own entries. */
  readonly inboxOnly?: boolean
  /** Yields what exists, which may be nothing, and ends: does not wait for changes. */
  readonly once?: boolean
}

/** Goes with each append. The store refuses the append if the writer no longer holds the lease, or does not know all entries. */
export interface Fence {
  /** The epoch of the lease, as it was when the writer took it. */
  readonly epoch: number
  /** The number of the last entry that the writer knows; the new entries follow it. */
  readonly head: number
  /** For a child's session: the id of the session whose lease covers it, at the root of the tree. `epoch` is the epoch of that lease. */
  readonly holder?: string
  /** The parent session. */
  readonly parent?: string
  /**
   * For the first append of a fork: the session whose entries up to `head` the fork shares. These entries are not copied, and stay
   * readable when that session is deleted.
   */
  readonly base?: string
}

export interface LeaseRequest {
  /** The name of the writer, for the errors that other writers get. */
  readonly owner: string
  /** How long the lease is held if it is not renewed; 0 gives it back. */
  readonly ttlMs: number
  /** The epoch of a lease that the writer holds, to renew it or give it back. Absent to take the lease. */
  readonly epoch?: number
  /** Take the lease even if another writer holds it. */
  readonly takeOver?: boolean
  /** Make the session if it does not exist. */
  readonly create?: boolean
  /**
   * The caller writes only while this process lives, and listens to `lost` of the lease. So a store may renew the lease by itself,
   * if it is able to.
   */
  readonly ofProcess?: boolean
}

export interface Lease {
  /** Rises whenever a writer takes the lease, so that appends of the writer before are refused. */
  readonly epoch: number
  /** The number of the last entry; 0 if there is none. */
  readonly head: number
  /** Messages to be moved into the log. */
  readonly inbox: readonly InboxItem[]
  /**
   * Set if the store renews this lease by itself as long as the process lives; aborts when another writer has taken the
   * session. Without it the holder renews the lease.
   */
  readonly lost?: AbortSignal
  /** If the last holder died without giving the lease back: how many sessions its process held, this one included. */
  readonly died?: { readonly processId: string; readonly sessions: number }
}

export interface StoreChange {
  readonly entries: readonly LogEntry[]
  readonly inbox: readonly InboxItem[]
}

export interface BlobStore {
  /** Resolves with the name of the blob. */
  put(bytes: Uint8Array): Promise<string>
  get(name: string): Promise<Uint8Array | undefined>
  /** The names of all blobs of the session, without those that it shares with the session from which it was forked. */
  names(): Promise<readonly string[]>
  delete(name: string): Promise<void>
}

/** The answer to a call that waits: `decision` for an approval, `content` for a question of its tool. */
export interface PendingAnswer {
  readonly decision?: 'allow' | 'deny'
  readonly content?: string | readonly SessionContentBlock[]
  readonly by?: string
  /** For an approval: how long it counts. Default `once`. */
  readonly scope?: ApprovalScope
  /** For an approval: its commands run outside any sandbox. */
  readonly where?: 'outside'
  /** For an approval: the decision about each edit of the call. Default: all are allowed. */
  readonly edits?: readonly EditDecision[]
  /** For an approval with the scope `project`: the rule to keep; see `ApprovalExtent`. */
  readonly rule?: string
  /** The signature of the answer, by the key that the request wanted. */
  readonly mac?: string
  /** The sender, a trace, a reply address. At most 8 KiB of JSON. */
  readonly meta?: Meta
}

/** A call that waits for a person: for an approval, or for the answer to a question of its tool. */
export interface PendingCall {
  readonly callId: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string
  readonly digest: string
  readonly request?: unknown
  /** An `allow` counts only if it is signed: answer with `authority.answer`. */
  readonly signature?: WantedSignature
  /** The decision, if the run has not continued since. */
  readonly decision?: 'allow' | 'deny' | 'expired'
}
