import type { LeaseLostError } from './errors.ts'
import type { InboxItem, Log, LogEntry, WantedSignature } from './log.ts'
import type { Meta } from './meta.ts'
import type { RunRecord } from './transcript.ts'
import type { Message, SessionContentBlock, SessionTurn } from './turn.ts'

/** A log that outlives the process, with the operations that agents and embedders use. */
export interface Session {
  readonly id: string
  readonly log: Log
  readonly turns: readonly SessionTurn[]
  /** All runs, oldest first. */
  readonly runs: readonly RunRecord[]
  /** Adds turns outside a run, for instance a user's message that a later run without a prompt answers. */
  addTurns(messages: readonly Message[]): Promise<void>
  /** Resolves once everything is durable. Turns are written as they happen, so this only waits. */
  save(): Promise<void>
  /** Takes the lease, reads what other processes wrote, and repairs what a crash left. */
  open(): Promise<void>
  /** Sends a message to the run that writes this session, in this process or another. Resolves once it is durable. */
  send(item: InboxItem): Promise<void>
  /** Moves messages of other processes into the log, until `signal` aborts. */
  listen(signal: AbortSignal, onLost?: (error: LeaseLostError) => void): Promise<void>
  /** Gives the lease back. Calling it again does nothing. */
  release(): Promise<void>
  startRun(run: { runId: string; model: string }): Promise<void>
  completeRun(runId: string, stop?: string): Promise<void>
  abortRun(runId: string): Promise<void>
  /** The session of a child agent, under the lease of this session. */
  child(name: string): Promise<Session>
  /** The names of the children that these calls started, directly or through nested calls. */
  childrenOf(...callIds: readonly string[]): Promise<readonly string[]>
  /** The log of this session, then those of all descendants. */
  tree(): Promise<readonly (readonly LogEntry[])[]>

  /** Calls that wait for a person. */
  readonly pending: readonly PendingCall[]
  /** Those of all descendants too. */
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
  fork(atSeq?: number, options?: { readonly id?: string }): Promise<Session>
}

/** Stores sessions. `storeContract` of `libero/testing` tests what each method must do. */
export interface SessionStore {
  /**
   * Appends all entries or none after `fence.head`, for the holder of `fence.epoch`. Repeating a successful append
   * succeeds. In the same transaction, an `input` entry removes the message with its `clientKey` from the inbox.
   */
  append(sessionId: string, entries: readonly LogEntry[], fence: Fence): Promise<void>
  read(sessionId: string, after?: number): Promise<readonly LogEntry[]>
  list(): Promise<readonly SessionInfo[]>
  /** Deletes its children, inbox and blobs too. */
  delete(sessionId: string): Promise<void>
  /** Takes (without `epoch`), renews or gives back (`ttlMs` 0) the lease. Taking it raises the epoch. */
  lease(sessionId: string, request: LeaseRequest): Promise<Lease>
  /** Puts a message into the session's inbox. Needs no lease. A second message with the same `clientKey` is ignored. */
  send(sessionId: string, item: InboxItem): Promise<void>
  /** Yields the entries after `after` and the messages of the inbox: first those that exist, then each change. */
  watch(sessionId: string, options: { after?: number; signal: AbortSignal }): AsyncIterable<StoreChange>
  /** Stores large outputs, which are written before the entry that refers to them. */
  blobs(sessionId: string): BlobStore
  /** Only one process may use the store at a time. Default false. */
  readonly isOneProcess?: boolean
  /** Identifies the store across restarts, so that a session is not continued in another one. */
  identity?(): Promise<string>
  /** Closes files and connections. Calling it again does nothing. */
  close?(): Promise<void>
}

export interface Fence {
  readonly epoch: number
  readonly head: number
  /** For a child's session: the session at the root, whose lease is needed. */
  readonly holder?: string
  /** The parent session. */
  readonly parent?: string
}

export interface LeaseRequest {
  readonly owner: string
  readonly ttlMs: number
  readonly epoch?: number
  readonly takeOver?: boolean
}

export interface Lease {
  readonly epoch: number
  readonly head: number
  /** Messages to be moved into the log. */
  readonly inbox: readonly InboxItem[]
}

export interface StoreChange {
  readonly entries: readonly LogEntry[]
  readonly inbox: readonly InboxItem[]
}

export interface BlobStore {
  /** Resolves with the name of the blob. */
  put(bytes: Uint8Array): Promise<string>
  get(name: string): Promise<Uint8Array | undefined>
}

export interface SessionInfo {
  readonly id: string
  readonly head: number
  readonly parent?: string
  /** When the first and the last entry were written, if the store knows. */
  readonly createdAt?: number
  readonly updatedAt?: number
}

/** The answer to a call that waits: `decision` for an approval, `content` for a question of its tool. */
export interface PendingAnswer {
  readonly decision?: 'allow' | 'deny'
  readonly content?: string | readonly SessionContentBlock[]
  readonly by?: string
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
