import type { ApprovalScope, Decision, ToolOrigin } from '../core/authority.ts'
import type { EditDecision, EditOutcome } from '../core/edit-outcomes.ts'
import type { CallOutcome, EntryOf, InputMode } from '../core/log.ts'
import type { Meta } from '../core/meta.ts'
import type { ToolPreview } from '../core/tool.ts'
import type { SessionContentBlock, ToolOutput, TurnUsage } from '../core/turn.ts'

/** A row of a screen. Rows are immutable: a row that changes is replaced, and one that does not stays the same object. */
export type Row = MessageRow | AnswerRow | CallRow | NoticeRow | CompactionRow

interface RowBase {
  /** Unique in the session, and the same on every replay. */
  readonly id: string
  /** The log entry that it begins with. A row that is not committed yet has the number that comes next. */
  readonly seq: number
  readonly at: number
}

/** A message to the model. */
export interface MessageRow extends RowBase {
  readonly kind: 'message'
  readonly turnId: string
  readonly runId: string
  readonly content: readonly SessionContentBlock[]
  /** The first entry of what it began: of its run, or its own. A rewind to the entry before takes the message back. */
  readonly from: number
  /** How it was sent; absent for the prompt of a run. */
  readonly mode?: InputMode
  /** The key it was sent with. */
  readonly clientKey?: string
  readonly meta?: Meta
  /** The program added it, not a person. */
  readonly isNote?: true
}

/** A reply of the model, without its calls. */
export interface AnswerRow extends RowBase {
  readonly kind: 'answer'
  readonly text: string
  readonly thinking: string
  /** Its blocks in their order, once it is committed. */
  readonly content: readonly AnswerBlock[]
  /** It still streams. */
  readonly isOpen?: true
  /** The run was cancelled, or the stream broke off. */
  readonly isInterrupted?: true
  /** Why the model call failed. */
  readonly error?: string
  readonly runId?: string
  readonly model?: string
  readonly provider?: string
  readonly usage?: TurnUsage
}

type AnswerBlock = Exclude<SessionContentBlock, { type: 'tool_call' | 'tool_result' }>

/** A tool call. */
export interface CallRow extends RowBase {
  readonly kind: 'call'
  readonly turnId: string
  readonly name: string
  /** While it streams, the arguments are only in `live`. */
  readonly input: Readonly<Record<string, unknown>>
  /** The arguments as text, if they could not be read. */
  readonly raw?: string
  /** `waiting`: for a person. `running` only where the start of the call is logged. */
  readonly state: 'streaming' | 'open' | 'waiting' | 'running' | 'over'
  /** While it waits: for a decision, or for the answer to a question of its tool or of a sub-agent. */
  readonly waitsFor?: 'permission' | 'answer'
  readonly started?: { readonly seq: number; readonly at: number; readonly attempt: number }
  readonly origin?: ToolOrigin
  /** The questions to a person, of nested calls too; the last one may be open. */
  readonly approvals?: readonly ApprovalView[]
  readonly result?: CallResultView
  /** What only the process that runs the call can tell; never on a replay. */
  readonly live?: CallLive
}

/** A question to a person about a call. */
export interface ApprovalView {
  readonly seq: number
  /** The call that it is about: this one, or one that its tool made. */
  readonly callId: string
  /** That call, if its tool made it. */
  readonly call?: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
  readonly digest: string
  /** Why a person is asked. */
  readonly reason?: string
  /** For the program that asks the person. */
  readonly request?: unknown
  /** The changes of files that the call would make, as diffs. */
  readonly preview?: ToolPreview
  /** Absent while it is open. */
  readonly answer?: {
    readonly seq: number
    readonly at: number
    /** `reply`: the answer to a question of a tool, which is in the `note`. */
    readonly decision: 'allow' | 'deny' | 'expired' | 'reply'
    /** Unknown for a `reply`. */
    readonly by?: string
    /** How long an `allow` counts, if not once. */
    readonly scope?: ApprovalScope
    /** Its commands run outside of the sandbox. */
    readonly where?: 'outside'
    readonly note?: readonly SessionContentBlock[]
    /** The decision about each edit of the call, if some were denied. */
    readonly edits?: readonly EditDecision[]
    /** The key of the message that brought it; absent if the process asked that runs the call. */
    readonly clientKey?: string
  }
}

export interface CallResultView {
  readonly seq: number
  readonly at: number
  readonly output: ToolOutput
  readonly outcome: CallOutcome
  readonly isError?: true
  readonly details?: unknown
  /** The change of the file, as a unified diff. */
  readonly diff?: string
  /** What became of each edit, if they were decided about one by one. */
  readonly edits?: readonly EditOutcome[]
}

interface CallLive {
  /** The text of the arguments so far. */
  readonly args?: string
  readonly progress?: string
  /** The decision of the authority, and why. */
  readonly decision?: Decision
  readonly approver?: string
}

/** What happened to the session, in words. */
export interface NoticeRow extends RowBase {
  readonly kind: 'notice'
  readonly about: 'run' | 'rewind' | 'files' | 'label' | 'parked' | 'unparked' | 'fork' | 'sandbox'
  readonly text: string
  /** How the run ended. */
  readonly run?: Pick<EntryOf<'run_ended'>, 'runId' | 'status' | 'stop' | 'error'>
}

/** Everything above it is replaced by a summary in requests. */
export interface CompactionRow extends RowBase {
  readonly kind: 'compaction'
  readonly toSeq: number
  readonly summary: readonly SessionContentBlock[]
}
