import type { EditDecision } from './edit-outcomes.ts'
import type { Confinement } from './execution.ts'

/** What a call does, as its tool declares it. The authority decides by effects, not by tool names. */
export type Effect =
  | 'fs.read'
  | 'fs.write'
  | 'exec'
  | 'net'
  | 'spawn'
  | 'schedule.write'
  | 'ask'
  | 'unknown'
  | `mcp:${string}`

/** Where a tool comes from. Set by its loader: the tool's own claim does not count. */
export interface ToolOrigin {
  readonly layer: 'host' | 'bundled' | 'global' | 'project' | 'mcp' | 'plugin'
  /** The file, the server, or the plugin. */
  readonly path?: string
  /** The digest of its code or definition; an approval ends when it changes. */
  readonly digest?: string
  /** It changed since it was accepted, and has to be approved again. */
  readonly isChanged?: boolean
  /** The layers of the tools that it replaces under the same name; prompts say so. */
  readonly replaces?: readonly ToolOrigin['layer'][]
}

/** A shell command that a call would run. */
export interface CommandLine {
  readonly command: string
  /** As in the input. Default: the agent's working directory. */
  readonly cwd?: string
  /** The call asks to run it outside any sandbox. */
  readonly isOutside?: boolean
  /** It runs on after the call has its result. */
  readonly isBackground?: boolean
}

export type Verdict = 'allow' | 'ask' | 'deny'

/** The rule or the party that decided. */
export type DecidedBy =
  | 'ungated'
  | 'deny-rule'
  | 'plan'
  | 'sm-envelope'
  | 'sm-grant-token'
  | 'ask-rule'
  | 'allow-rule'
  | 'grant'
  | 'mode-gate'
  | 'sandbox'
  | 'floor'
  | 'preview'
  | 'guard'
  | 'person'
  | 'hook'

/** The decision about a call, and why. People, the audit and, for a denial, the model get the same text. */
export interface Decision {
  readonly verdict: Verdict
  readonly by: DecidedBy
  /** The configured rule that matched, as written; several are joined by `, `. */
  readonly rule?: string
  readonly why: string
  /** For denials, such as `ApprovalDenied`. */
  readonly code?: string
  /**
   * What the commands of an allowed call can reach; of a call that is asked about, what they could if it is allowed
   * inside. `outside`: they run with all rights of the user. Absent where the context has no sandbox.
   */
  readonly confinement?: Confinement | 'outside'
  /** Of an allowed call some of whose edits a person denied: the decision about each. */
  readonly edits?: readonly EditDecision[]
}

/** How long an approval counts: for one call, in a session, in a project. What counts in all projects is a rule. */
export type ApprovalScope = 'once' | 'session' | 'project'

/** In the sandbox that the question names, or outside of it with all rights of the user. */
export type ApprovalPlace = 'inside' | 'outside'

/** How far an approval reaches. */
export interface ApprovalExtent {
  /** Default `once`. */
  readonly scope?: ApprovalScope
  /** Default: inside, where there is a sandbox. */
  readonly where?: ApprovalPlace
  /** The decision about each edit of the call. Default: all are allowed. If one is denied, the approval counts once. */
  readonly edits?: readonly EditDecision[]
  /**
   * With the scope `project`: keep this rule, such as `shell:git commit *`, instead of the calls that the chosen option covers.
   * Offered where the option has a `rule`; a rule that is not valid there keeps nothing.
   */
  readonly rule?: string
}

/** One line of the audit. */
export interface AuditRecord {
  /** A class of the mission's list, such as `Approval`, `ToolInvocation`, `TrustDecision`, `ExtensionsReloaded`. */
  readonly class: string
  /** What happened, such as `ToolInvocationStarted`. */
  readonly event: string
  readonly sessionId?: string
  readonly runId?: string
  readonly parentRunId?: string
  readonly callId?: string
  readonly tool?: string
  readonly origin?: ToolOrigin
  readonly key?: string
  /** The digest of the call, including its arguments. */
  readonly digest?: string
  readonly decision?: Decision
  /** Who answered, and from where. */
  readonly approver?: string
  /** Everything else. Secrets are removed before it is written. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** Where audit records are written. If a write rejects, the recorded action does not happen. */
export interface AuditSink {
  write(record: AuditRecord): void | Promise<void>
}
