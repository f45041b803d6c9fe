import type { InputMode, LogEntry } from '../src/core/log.ts'
import type { SessionSummary } from '../src/core/store.ts'
import type { ReplayClass } from '../src/core/tool.ts'

/** A line of the ledger: an external observation, in the order of events over all processes. */
export type Note =
  /** A tool begins its work. */
  | {
      readonly kind: 'begin'
      readonly pid: number
      readonly time: number
      readonly writer: string
      readonly epoch: number
      readonly session: string
      readonly tool: string
      readonly callId: string
      readonly key: string
      readonly attempt: number
      readonly replay: ReplayClass
    }
  /** A client got an acknowledgement. */
  | { readonly kind: 'ack'; readonly of: 'prompt' | 'message' | 'answer'; readonly clientKey: string }
  | { readonly kind: 'ack'; readonly of: 'tool'; readonly session: string; readonly callId: string }
  | { readonly kind: 'ack'; readonly of: 'turn'; readonly session: string; readonly turnId: string }
  | { readonly kind: 'ack'; readonly of: 'run'; readonly status: string; readonly text: string }
  /** A screen was shown a durable event. */
  | {
      readonly kind: 'event'
      readonly session: string
      readonly seq: number
      readonly id: string
      readonly type: string
      readonly digest: string
      /** The call, if it is a result. */
      readonly callId?: string
    }
  /** A process got the lease, with `head` entries stored. */
  | {
      readonly kind: 'lease'
      readonly session: string
      readonly epoch: number
      readonly head: number
      readonly writer: string
    }
  /** A process is about to append. */
  | { readonly kind: 'append'; readonly session: string; readonly epoch: number; readonly ids: readonly string[] }
  | { readonly kind: 'refused'; readonly writer: string; readonly error: string; readonly owner?: string }
  | { readonly kind: 'failpoints'; readonly counts: Readonly<Record<string, number>> }

export type NoteOf<Kind extends Note['kind']> = Extract<Note, { kind: Kind }>

/** What a check records for the next one, because entries never change. */
export interface Snapshot {
  /** How many notes there were. */
  readonly notes: number
  /** A digest of each entry, by session. */
  readonly digests: Readonly<Record<string, readonly string[]>>
  /** The calls that had a result, as `session callId`. */
  readonly answered: ReadonlySet<string>
}

/** A message that is not in the log yet. */
export interface WaitingMessage {
  readonly session: string
  readonly clientKey: string
  readonly mode: InputMode
}

/** The input of a check. */
export interface Evidence {
  /** The root session; the others are its descendants. */
  readonly root: string
  readonly sessions: Readonly<Record<string, readonly LogEntry[]>>
  /** The summary of each session, read before its log and after it. */
  readonly summaries: Readonly<Record<string, readonly [SessionSummary | undefined, SessionSummary | undefined]>>
  /** The sessions that the store says need attention. */
  readonly attention: readonly string[]
  /** Whether no process works on the sessions. */
  readonly isQuiet: boolean
  /** The messages that wait in the store's inboxes. */
  readonly waiting: readonly WaitingMessage[]
  readonly notes: readonly Note[]
  /** The number of notes after everything else was read. */
  readonly ledger: number
  /** The keys of effects that took place. */
  readonly effects: ReadonlySet<string>
  /** Whether all work is done, so that no call or run may be open. */
  readonly isDone: boolean
  readonly earlier?: Snapshot
  /** Errors while the store was opened and read. */
  readonly problems: readonly string[]
}

export type PromiseId = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8' | 'I9'

/** A violated guarantee. `approval`: an answer counts only for the question it answers. */
export interface Violation {
  readonly id: PromiseId | 'approval'
  readonly what: string
}

/** The entries of a type. */
export function entriesOf<Type extends LogEntry['type']>(
  entries: readonly LogEntry[],
  type: Type,
): Extract<LogEntry, { type: Type }>[] {
  return entries.filter((entry): entry is Extract<LogEntry, { type: Type }> => entry.type === type)
}

export function notesOf<Kind extends Note['kind']>(notes: readonly Note[], kind: Kind): NoteOf<Kind>[] {
  return notes.filter((note): note is NoteOf<Kind> => note.kind === kind)
}
