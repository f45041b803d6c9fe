import type { LeaseLostError } from './errors.ts'
import type { InboxItem, Log, LogEntry, WantedSignature } from './log.ts'
import type { Meta } from './meta.ts'
import type { RunRecord } from './transcript.ts'
import type { Message, SessionContentBlock, SessionTurn } from './turn.ts'

/** A log that outlives the process, as an agent uses it. */
export interface Session {
  readonly id: string
  readonly log: Log
  readonly turns: readonly SessionTurn[]
  /** Every run there ever was, oldest first. */
  readonly runs: readonly RunRecord[]
  /** Adds turns outside a run, for instance a user's message that a later run without a prompt answers. */
  addTurns(messages: readonly Message[]): Promise<void>
  /** Resolves once everything said so far is durable. Turns are written as they happen, so this only waits. */
  save(): Promise<void>
  /** Takes the right to write, catches up with what others wrote, settles what a crash left behind. */
  open(): Promise<void>
  /** Leaves a message for the run that writes this session, here or elsewhere. Resolves once it cannot be lost. */
  send(item: InboxItem): Promise<void>
  /** Moves messages that other processes sent into the log, until `signal` says stop. */
  listen(signal: AbortSignal, onLost?: (error: LeaseLostError) => void): Promise<void>
  /** Gives the right to write back. Doing it twice is harmless. */
  release(): Promise<void>
  startRun(run: { runId: string; model: string }): Promise<void>
  completeRun(runId: string, stop?: string): Promise<void>
  abortRun(runId: string): Promise<void>
  /** The session of a child agent, guarded by this session's right to write. */
  child(name: string): Promise<Session>
  /** The names of the children that these calls began, by themselves or through calls of their own. */
  childrenOf(...callIds: readonly string[]): Promise<readonly string[]>
  /** The log of this session, then those of all children, and of theirs. */
  tree(): Promise<readonly (readonly LogEntry[])[]>

  /** Calls that wait for a person. */
  readonly pending: readonly PendingCall[]
  /** The same, with those of all children. */
  pendingInTree(): Promise<readonly (PendingCall & { readonly sessionId: string })[]>
  /** Says what somebody decided or answered about a call that waits. From any process; the first answer counts. */
  answer(callId: string, answer: PendingAnswer): Promise<void>
  /** Why this session is not tried any more; absent as long as it is. */
  readonly parked: string | undefined
  /** Lets a parked session be tried again. */
  unpark(): Promise<void>

  /** Marks the place where the log stands, for people and for `fork`. Resolves with its number. */
  label(text: string): Promise<number>
  readonly labels: readonly { readonly seq: number; readonly at: number; readonly text: string }[]
  /** What a summary has to keep word for word. */
  pin(turnId: string): Promise<void>
  unpin(turnId: string): Promise<void>
  /** Turns after entry `toSeq` are no longer part of the conversation; the raw log keeps them. */
  rewind(toSeq: number): Promise<void>
  /** Another session that has the same past up to entry `atSeq`, and a future of its own. */
  fork(atSeq?: number, options?: { readonly id?: string }): Promise<Session>
}

/** Where logs are kept. The contract suite in `libero/testing` says what each method must do. */
export interface SessionStore {
  /**
   * All or nothing, after `fence.head`, by the holder of `fence.epoch`. Repeating an append that did happen succeeds.
   * An `input` entry takes the message of the same `clientKey` out of the inbox, in the same stroke.
   */
  append(sessionId: string, entries: readonly LogEntry[], fence: Fence): Promise<void>
  read(sessionId: string, after?: number): Promise<readonly LogEntry[]>
  list(): Promise<readonly SessionInfo[]>
  /** With its children, inbox and blobs. */
  delete(sessionId: string): Promise<void>
  /** Takes (no `epoch`), renews or gives back (`ttlMs` 0) the right to write. Taking raises the epoch. */
  lease(sessionId: string, request: LeaseRequest): Promise<Lease>
  /** Leaves a message for whoever writes the session. Needs no lease; the same `clientKey` again changes nothing. */
  send(sessionId: string, item: InboxItem): Promise<void>
  /** What was appended after `after`, and what waits in the inbox: first what is there, then whatever comes. */
  watch(sessionId: string, options: { after?: number; signal: AbortSignal }): AsyncIterable<StoreChange>
  /** Large outputs, written before the entry that names them. */
  blobs(sessionId: string): BlobStore
  /** What this store cannot promise. Absent: several processes may use it at once. */
  readonly isOneProcess?: boolean
  /** Names the place, so that a session is not gone on with in another one. Stays the same over restarts. */
  identity?(): Promise<string>
  /** Lets go of files and connections. Doing it twice is harmless. */
  close?(): Promise<void>
}

export interface Fence {
  readonly epoch: number
  readonly head: number
  /** Whose lease guards the write, when it is a child's: the session at the top. */
  readonly holder?: string
  /** The session whose child this is. */
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
  /** What waits to be moved into the log. */
  readonly inbox: readonly InboxItem[]
}

export interface StoreChange {
  readonly entries: readonly LogEntry[]
  readonly inbox: readonly InboxItem[]
}

export interface BlobStore {
  /** Returns the name to find it again by. */
  put(bytes: Uint8Array): Promise<string>
  get(name: string): Promise<Uint8Array | undefined>
}

export interface SessionInfo {
  readonly id: string
  readonly head: number
  readonly parent?: string
  /** When its first and its last entry were written, where the store knows. */
  readonly createdAt?: number
  readonly updatedAt?: number
}

/** What is said about a call that waits: `decision` for an approval, `content` for a question that its tool put. */
export interface PendingAnswer {
  readonly decision?: 'allow' | 'deny'
  readonly content?: string | readonly SessionContentBlock[]
  readonly by?: string
  readonly mac?: string
  /** Who sent it, a trace, a reply address. At most 8 KiB of JSON. */
  readonly meta?: Meta
}

/** A call that waits for a person: an approval, or a question that its tool put. */
export interface PendingCall {
  readonly callId: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string
  readonly digest: string
  readonly request?: unknown
  /** An `allow` counts only if it is signed: answer with `authority.answer`. */
  readonly signature?: WantedSignature
  /** What was decided, when the run has not gone on since. */
  readonly decision?: 'allow' | 'deny' | 'expired'
}
