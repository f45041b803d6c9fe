/** What a call does to the world, as its tool declares it; the authority judges these, not tool names. */
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

/** Where a tool comes from. Set by whoever loads it: what a tool says of itself does not count. */
export interface ToolOrigin {
  readonly layer: 'host' | 'bundled' | 'global' | 'project' | 'mcp' | 'plugin'
  /** The file, the server, or the plugin. */
  readonly path?: string
  /** Of its code or definition; an approval does not outlive a change of it. */
  readonly digest?: string
  /** It is not what it was when it was accepted; somebody has to look at it again. */
  readonly isChanged?: boolean
  /** Where the tools come from whose name it took; people are told so. */
  readonly replaces?: readonly ToolOrigin['layer'][]
}

/** A shell line that a call would run. */
export interface CommandLine {
  readonly command: string
  /** As given; default: where the agent's commands run. */
  readonly cwd?: string
}

export type Verdict = 'allow' | 'ask' | 'deny'

/** Who had the last word. */
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
  | 'floor'
  | 'preview'
  | 'guard'
  | 'person'
  | 'hook'

/** What was decided about one call, and why; the same words go to people, to the audit and, for a denial, to the model. */
export interface Decision {
  readonly verdict: Verdict
  readonly by: DecidedBy
  /** The entry that matched, as it was written; several are joined by `, `. */
  readonly rule?: string
  readonly why: string
  /** For denials, such as `ApprovalDenied`. */
  readonly code?: string
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
  /** Of the call as it was judged, arguments included. */
  readonly digest?: string
  readonly decision?: Decision
  /** Who answered, and from where. */
  readonly approver?: string
  /** Everything else; secrets are taken out of it before it is written. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** Where records go. A rejected write stops what it was to record. */
export interface AuditSink {
  write(record: AuditRecord): void | Promise<void>
}
