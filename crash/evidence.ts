import type { InputMode, LogEntry } from '../src/core/log.ts'
import type { ReplayClass } from '../src/core/tool.ts'

/** A line of the ledger: what the world outside saw, in the order in which it happened, over all processes. */
export type Note =
  /** A tool begins to do what it does. */
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
  /** A client was told that something is safe. */
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
      /** Where it is a result: whose. */
      readonly callId?: string
    }
  /** A process was given the right to write, up to `head` entries being there. */
  | {
      readonly kind: 'lease'
      readonly session: string
      readonly epoch: number
      readonly head: number
      readonly writer: string
    }
  /** A process is about to write. */
  | { readonly kind: 'append'; readonly session: string; readonly epoch: number; readonly ids: readonly string[] }
  | { readonly kind: 'refused'; readonly writer: string; readonly error: string; readonly owner?: string }
  | { readonly kind: 'failpoints'; readonly counts: Readonly<Record<string, number>> }

export type NoteOf<Kind extends Note['kind']> = Extract<Note, { kind: Kind }>

/** What a check remembers for the next one: entries never change, and time goes one way. */
export interface Snapshot {
  /** How many notes there were. */
  readonly notes: number
  /** A digest of each entry, by session. */
  readonly digests: Readonly<Record<string, readonly string[]>>
  /** The calls that had a result, as `session callId`. */
  readonly answered: ReadonlySet<string>
}

/** A message that is not in the log yet. */
export interface Waiting {
  readonly session: string
  readonly clientKey: string
  readonly mode: InputMode
}

/** All that a check goes by. */
export interface Evidence {
  /** The session at the top; the others are its children. */
  readonly root: string
  readonly sessions: Readonly<Record<string, readonly LogEntry[]>>
  /** The messages that wait in the store's inboxes. */
  readonly waiting: readonly Waiting[]
  readonly notes: readonly Note[]
  /** How many notes there were when all else had been read. */
  readonly ledger: number
  /** The keys under which something was really done. */
  readonly effects: ReadonlySet<string>
  /** Nothing is left to do: what may be open after a crash must be closed now. */
  readonly isDone: boolean
  readonly earlier?: Snapshot
  /** What went wrong when the store was opened and read. */
  readonly problems: readonly string[]
  /** Blobs that entries name and the store does not have. */
  readonly missingBlobs: readonly string[]
}

export type PromiseId = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7' | 'I8'

/** A promise that was not kept. `approval` stands for the rule that an answer counts only for what was asked. */
export interface Violation {
  readonly id: PromiseId | 'approval'
  readonly what: string
}

/** Entries by what they are, typed. */
export function entriesOf<Type extends LogEntry['type']>(
  entries: readonly LogEntry[],
  type: Type,
): Extract<LogEntry, { type: Type }>[] {
  return entries.filter((entry): entry is Extract<LogEntry, { type: Type }> => entry.type === type)
}

export function notesOf<Kind extends Note['kind']>(notes: readonly Note[], kind: Kind): NoteOf<Kind>[] {
  return notes.filter((note): note is NoteOf<Kind> => note.kind === kind)
}
