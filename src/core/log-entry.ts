import type { ToolOrigin } from './authority.ts'
import type { Meta } from './meta.ts'
import type { StopReason } from './provider.ts'
import type { ReplayClass } from './tool.ts'
import type { SessionContentBlock, SessionTurn, ToolOutput, TurnUsage } from './turn.ts'

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
