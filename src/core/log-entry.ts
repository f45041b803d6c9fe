import type { ToolOrigin } from './authority.ts'
import type { Meta } from './meta.ts'
import type { StopReason } from './provider.ts'
import type { SessionDetails } from './session-summary.ts'
import type { ReplayClass } from './tool.ts'
import type { Approval } from './tool-hooks.ts'
import type { SessionContentBlock, SessionTurn, ToolOutput, TurnUsage } from './turn.ts'

/** An entry of a session's log. `seq` starts at 1 and has no gaps. */
export type LogEntry = { readonly seq: number; readonly id: string; readonly at: number } & EntryBody

/** An entry of any type, of a later version too. */
export type AnyEntry = Pick<LogEntry, 'seq' | 'id' | 'at'> & { readonly type: string }

/** Entries of unknown types are kept and ignored. */
export type EntryBody =
  | {
      readonly type: 'run_started'
      readonly runId: string
      readonly model: string
      /** The agent's name. */
      readonly agent?: string
      readonly parent?: ParentCall
      /** The `meta` of the message that the run answers. */
      readonly meta?: Meta
      /** Identifies the process that runs it, among all that use the store. */
      readonly processId?: string
      /** Why commands ran without a question and without a sandbox. */
      readonly unconfined?: string
      /** The span of the run, as a `traceparent`, if it was traced. */
      readonly trace?: string
    }
  /** What embedders and people set about the session. A detail that is absent stays as it was. */
  | ({ readonly type: 'details' } & SessionDetails)
  /** An accepted message; a later `turn` delivers it. A message with mode `stop` ends the run and is never delivered. */
  | {
      readonly type: 'input'
      readonly mode: InputMode
      readonly clientKey: string
      readonly content: readonly SessionContentBlock[]
      /** The call that an `answer` is for. */
      readonly callId?: string
      readonly meta?: Meta
    }
  /** The sender took a message back: `input` is the id of the message's entry. Has no effect after the turn that delivers the message. */
  | { readonly type: 'withdrawn'; readonly input: string }
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
  /** A call waits for an approval. */
  | {
      readonly type: 'approval_requested'
      readonly callId: string
      readonly digest: string
      readonly reason?: string
      readonly request?: unknown
      /** An `allow` counts only if it is signed. */
      readonly signature?: WantedSignature
      /** Where the tool comes from; absent if there is no such tool. */
      readonly origin?: ToolOrigin
      /** For a call that a tool made, which no turn contains: its name and input. */
      readonly call?: { readonly name: string; readonly input: Readonly<Record<string, unknown>> }
    }
  | ({
      readonly type: 'approval_answered'
      readonly callId: string
      /** The key of the message that brought the answer. */
      readonly clientKey?: string
      readonly meta?: Meta
    } & Approval)
  /** A model call without a turn: for a summary, a title, a structured answer. */
  | { readonly type: 'usage'; readonly runId: string; readonly cause: string; readonly usage: TurnUsage }
  /** The state of an extension; the latest entry of an owner counts. */
  | { readonly type: 'state'; readonly owner: string; readonly value: unknown }
  /** In requests, everything up to `toSeq` is replaced by `summary`. */
  | { readonly type: 'compaction'; readonly toSeq: number; readonly summary: readonly SessionContentBlock[] }
  /** In requests, one block is replaced, or hidden if there is no `replacement`. With `provider`: in requests to that one only. */
  | {
      readonly type: 'context_edit'
      readonly turnId: string
      readonly block: number
      readonly replacement?: SessionContentBlock
      readonly provider?: string
    }
  /** Turns after `toSeq` are no longer part of the conversation. */
  | { readonly type: 'rewind'; readonly toSeq: number }
  /**
   * Everything that later work needs of the entries before it, except the turns after entry `from`: a session is opened
   * from its last checkpoint.
   */
  | { readonly type: 'checkpoint'; readonly from: number; readonly state: unknown }
  | { readonly type: 'label'; readonly text: string }
  /** No run may be started until the session is unparked. */
  | { readonly type: 'parked'; readonly reason: string }
  | { readonly type: 'unparked' }
  | {
      readonly type: 'run_ended'
      readonly runId: string
      readonly status: RunStatus
      readonly stop: string
      /** Of an aborted run: the head of the log when it was cancelled. */
      readonly stoppedAt?: number
      /** Drops the messages accepted up to this entry: a fork leaves them to the original session. */
      readonly dropsTo?: number
      readonly error?: RunFailure
      readonly output?: unknown
      /** How many sessions its process held when it died: any of them may be the cause. Absent if it held only this one. */
      readonly sharedCrash?: number
    }

/** Why a run failed. */
export interface RunFailure {
  readonly name: string
  readonly message: string
  readonly providerCode?: string
  readonly retryable?: boolean
}

/** `stop` aborts the run under way, in whichever process it runs; without one it has no effect. */
export type InputMode = 'prompt' | 'steer' | 'followUp' | 'answer' | 'stop'

/** A message to be logged. A second one with the same `clientKey` is ignored. */
export interface InboxItem {
  readonly clientKey: string
  readonly mode: InputMode
  readonly content: readonly SessionContentBlock[]
  /** With mode `answer`: the call that it is for, and the decision. */
  readonly answer?: CallAnswer
  readonly meta?: Meta
}

/** The answer to a call that waits: a decision about its approval, or the answer to its question. */
export interface CallAnswer extends Pick<Approval, 'scope' | 'where' | 'edits' | 'rule' | 'mac'> {
  readonly callId: string
  readonly decision?: 'allow' | 'deny'
  /** Identifies what was approved; an answer with another digest does not count. */
  readonly digest?: string
  readonly by?: string
}

/** `left`: the process stopped working on the run without ending it, and another process may continue the run. */
export type RunStatus = 'completed' | 'aborted' | 'error' | 'suspended' | 'left'

/** Why a call has the result it has. */
export type CallOutcome =
  /** The tool returned, possibly an error. */
  | 'done'
  /** The tool threw. */
  | 'error'
  | 'timeout'
  /** A gate gave the result, and the tool did not run. */
  | 'substituted'
  /** A gate or a denial blocked the call. */
  | 'blocked'
  /** There is no tool of that name. */
  | 'unknown_tool'
  /** The arguments do not fit the schema of the tool. */
  | 'invalid'
  /** The run was cancelled, or had no budget left. */
  | 'aborted'
  /** The user sent a message before the call started. */
  | 'skipped'
  /** Another call of the same wave failed, and the tool of that call has `cancelsSiblings`. */
  | 'cancelled'
  /** The call was interrupted: the process ended, or left the run, while the call ran. Its effects may or may not have happened. */
  | 'unknown'

/** The key with which an answer must be signed: the key with this id, else the own key of the process that asked. */
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
