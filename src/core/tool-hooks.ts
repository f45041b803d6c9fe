import type { ApprovalScope, Decision, Effect, ToolOrigin } from './authority.ts'
import type { EditDecision } from './edit-outcomes.ts'
import type { Confinement } from './execution.ts'
import type { WantedSignature } from './log.ts'
import type { Counts, OfTurn } from './model-hooks.ts'
import type { ToolDef } from './tool.ts'
import type { Coercion } from './tool-input.ts'
import type { SessionContentBlock, SessionTurn, ToolOutput } from './turn.ts'

/** In the context of every tool hook. `name` is the canonical name of the tool, `displayName` the name by which the model knows it. */
export interface ToolHookContext extends OfTurn {
  readonly callId: string
  readonly name: string
  readonly displayName: string
  readonly input: Readonly<Record<string, unknown>>
  /** If a tool made this call: the call of that tool. Absent for the model's own calls. */
  readonly parentCallId?: string
}

/** What handlers of a gate decide. */
export interface GateDecision {
  block: boolean
  reason: string
  /** The result of the call, in place of running the tool. `block` takes precedence. */
  result?: ToolOutput | { readonly output: ToolOutput; readonly isError: boolean }
}

/** Leaves a call open until it is approved or denied. */
export interface Halt {
  readonly reason: string
  /** The question, for the program that shows it to a person. */
  readonly request?: unknown
  /** Identifies what would be approved: an answer counts only for the same digest. Default: the call's id. */
  readonly digest?: string
  /** If set, an `allow` counts only with the signature that this describes. (`approval_requested` has the same field.) */
  readonly signature?: WantedSignature
}

/** The answer to a halt, with the fields of its `approval_answered` entry. */
export interface Approval {
  readonly decision: 'allow' | 'deny' | 'expired'
  readonly digest: string
  readonly by: string
  /** How long an `allow` counts. Default `once`. */
  readonly scope?: ApprovalScope
  /** The commands of the call run outside any sandbox. Absent: inside the sandbox that the question names, if it names one. */
  readonly where?: 'outside'
  /** The decision about each edit of the call, if some were denied. */
  readonly edits?: readonly EditDecision[]
  /** With the scope `project`: the rule that the person keeps, such as `shell:git commit *`. Absent: the calls that the chosen option covers are kept. */
  readonly rule?: string
  /** The signature of the answer (a message authentication code), by the key that the request wanted. */
  readonly mac?: string
  /** The message that came with the answer. */
  readonly note?: readonly SessionContentBlock[]
}

/** The hooks of a tool call, in firing order. */
export interface ToolHooks {
  'tool:gate': ToolHookContext &
    GateDecision & {
      readonly runToolCounts: Counts
      /** The tool that would run, even if its name refers to another one by now. */
      readonly tool: ToolDef | undefined
      readonly effects: readonly Effect[]
      /** Why the call will not run even if it is allowed: its arguments are wrong. */
      readonly rejected: string | undefined
      /** The answer to the halt of this call, if there is one. No handler can override a denial. */
      readonly approval?: Approval
      /** The decision about each edit of the call, if some are denied. The tool gets these decisions in its input, as `_outcomes`. */
      editDecisions?: readonly EditDecision[]
      /** Confines every command that the tool runs by `ctx.execution`. Set by the authority. */
      confinement?: Confinement
      /** Awaited after the start of the call was logged and before the tool runs; if it rejects, the tool does not run. */
      beforeTool?: () => Promise<void>
      /** Awaited before the first command that the tool runs by `ctx.execution`; if it rejects, no command starts. Set by the authority. */
      beforeCommands?: () => Promise<void>
      /** Ends the run before this call and the others of its wave start. They stay open until the log has an answer. */
      halt?: Halt
    }
  /** Fired by the authority before it asks a person about a call. A handler blocks a call that cannot succeed. */
  'approval:before': ToolHookContext & { readonly tool: ToolDef; block: boolean; reason: string }
  /** Fired by the authority when the session has an `allow` for this call that is not valid, for this `reason`. The person is asked again. */
  'approval:invalid': { readonly callId: string; readonly name: string; readonly by: string; readonly reason: string }
  /** Fired by the authority after its decision was recorded, before anything runs. */
  'tool:decision': ToolHookContext & {
    readonly decision: Decision
    /** Absent if the authority could not analyse the call. */
    readonly origin?: ToolOrigin
    readonly key?: string
    readonly digest?: string
    /** The person who allowed or denied it, if one was asked. */
    readonly approver?: string
  }
  'tool:unknown': ToolHookContext & { result?: ToolOutput; suppressError: boolean }
  'validation:reject': ToolHookContext & { readonly error: string }
  'validation:coerce': ToolHookContext & { readonly coercions: readonly Coercion[] }
  'tool:before': ToolHookContext & {
    readonly runToolCounts: Counts
    /** Absent if no value had to be converted. */
    readonly coercions?: readonly Coercion[]
    /** The content of a file before it is overwritten. */
    readonly priorContent?: string
  }
  'tool:progress': ToolHookContext & { readonly text: string }
  'tool:error': ToolHookContext & { readonly error: unknown; result?: ToolOutput }
  /** `original` and its size `outputBytes` are the tool's own output, before any handler changed it. */
  'tool:transform': ToolHookContext & {
    result: ToolOutput
    isError: boolean
    readonly original: ToolOutput
    readonly outputBytes: number
    readonly details?: unknown
  }
  /** `outputBytes` is the size of the output that the model gets. */
  'tool:after': ToolHookContext & {
    readonly result: ToolOutput
    readonly isError: boolean
    readonly outputBytes: number
    readonly runToolCounts: Counts
    readonly details?: unknown
  }
  'tool-results:after': OfTurn & { readonly assistantTurn: SessionTurn; readonly resultTurn: SessionTurn }
}
