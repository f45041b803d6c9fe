import type { ApprovalScope } from '../core/authority.ts'
import type { Meta } from '../core/meta.ts'
import type { Attention, SessionStatus } from '../core/store.ts'

/** What agents can be made from. */
export interface RemoteDefinition {
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly model?: string
  readonly heartbeat?: {
    readonly enabled?: boolean
    readonly intervalSeconds: number
    readonly message: string
    readonly activeHours?: RemoteActiveHours
  }
}

export interface RemoteAgentQuery {
  readonly state?: SessionStatus | readonly SessionStatus[]
  readonly definition?: string
  readonly name?: string
  /** Closed ones too. */
  readonly closed?: boolean
  /** Sub-agents too. */
  readonly subAgents?: boolean
  readonly limit?: number
  readonly cursor?: string
}

export interface RemoteAgentPage {
  readonly agents: readonly RemoteAgentSummary[]
  readonly next?: string
}

interface AgentFacts {
  readonly id: string
  readonly definitionId: string
  readonly created: number
  readonly modified: number
  readonly isSubAgent: boolean
  readonly parentAgentId?: string
  readonly closed: boolean
  /** Ends with the process of the server. */
  readonly volatile?: boolean
}

/** An agent in a list. */
export interface RemoteAgentSummary extends AgentFacts {
  readonly title?: string
  readonly status: SessionStatus
  readonly attention?: Attention
  readonly isHeld?: true
}

export interface RemoteAgentInstance extends AgentFacts {
  readonly name?: string
  readonly handlerId?: string
}

export interface NewRemoteAgent {
  readonly definition: string
  /** Begins with `agent-`. Default: a new one. */
  readonly id?: string
  readonly name?: string
  /** Changes the configuration of the definition. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The first message. */
  readonly message?: RemoteAgentContent
}

export type RemoteAgentContent =
  | string
  | {
      readonly text: string
      /** `data` is in base64. */
      readonly file?: { readonly name?: string; readonly mediaType: string; readonly data: string }
      readonly wikiTiddlers?: readonly { readonly workspaceName: string; readonly tiddlerTitle: string }[]
    }

export interface RemoteAgentState {
  readonly status: {
    readonly state: 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled' | 'unknown'
    readonly message?: RemoteAgentMessage
    readonly modified?: number
  }
  /** The calls that wait for a person. */
  readonly pending: readonly RemoteAgentPending[]
  /** What the tokens of its last request were used for, if the server knows. */
  readonly tokens?: RemoteTokens
}

/** A call of an agent or of its sub-agents that waits for a person. */
export interface RemoteAgentPending {
  readonly approvalId: string
  readonly sessionId: string
  readonly callId: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason?: string
  readonly digest: string
  readonly isQuestion: boolean
  readonly request?: unknown
}

export interface RemoteAgentAnswer {
  readonly decision?: 'allow' | 'deny'
  /** Of the call that was shown. Needed to allow. */
  readonly digest?: string
  /** The answer to a question, or a note for the model. */
  readonly content?: string
  readonly scope?: ApprovalScope
}

export interface RemoteTokens {
  readonly system: number
  readonly tools: number
  readonly user: number
  readonly assistant: number
  readonly toolResults: number
  readonly total: number
  readonly limit?: number
  /** Of the limit. */
  readonly ratio?: number
  readonly level: 'ok' | 'warning' | 'danger'
}

export interface RemoteAgentMessage {
  readonly id: string
  readonly agentId: string
  readonly role: 'user' | 'assistant' | 'agent' | 'tool' | 'error'
  readonly content: string
  readonly reasoning_content?: string
  readonly contentType?: string
  readonly created?: number
  readonly modified?: number
  readonly metadata?: RemoteMessageMetadata
  /** Not shown to people. */
  readonly hidden?: boolean
  /** With how many model calls it is sent: absent means all, 0 none. */
  readonly duration?: number
}

export interface RemoteMessageMetadata {
  readonly isToolResult?: boolean
  readonly isError?: boolean
  /** The tool that was called. */
  readonly toolId?: string
  /** The call that a result answers, or the first one that a message made. */
  readonly callId?: string
  readonly toolParameters?: Readonly<Record<string, unknown>>
  /** False while it is streamed. */
  readonly isComplete?: boolean
  readonly interrupted?: boolean
  readonly calls?: readonly {
    readonly callId: string
    readonly toolId: string
    readonly parameters: Readonly<Record<string, unknown>>
    /** Absent until it has a result. */
    readonly outcome?: string
    readonly waitsFor?: 'permission' | 'answer'
  }[]
  readonly errorDetail?: { readonly name: string; readonly message: string; readonly code?: string }
  /** Its files were restored. */
  readonly rolledBack?: boolean
  /** The sender, as given with the message. */
  readonly meta?: Meta
  readonly askQuestionAnswered?: boolean
  /** The details of a tool result, for screens. */
  readonly details?: unknown
}

/** The rule of a tool: patterns are regular expressions over the JSON of `{ tool, parameters }`. */
export interface RemoteToolRule {
  /** `auto` needs no approval, `confirm` always does. Default: by the approval mode. */
  readonly mode?: 'auto' | 'confirm'
  readonly allowPatterns?: readonly string[]
  readonly denyPatterns?: readonly string[]
  /** 0 means none. */
  readonly timeoutMs?: number
}

/** What a person may change about an agent. */
export interface RemoteAgentSettings {
  readonly name?: string
  /** Rounds of one execution; 0 means any number. */
  readonly maxIterations?: number
  /** In tokens. */
  readonly contextWindowSize?: number
  /** With how many model calls the result of a tool is sent; `null` means all. */
  readonly toolResultDuration?: number | null
  readonly plugins: readonly RemotePluginSettings[]
}

export interface RemotePluginSettings {
  readonly id: string
  readonly toolId: string
  readonly caption?: string
  readonly enabled: boolean
  /** The definition forbids changes. */
  readonly isFixed?: true
  readonly approval?: RemoteToolRule
  readonly timeoutMs?: number
  readonly toolResultDuration?: number | null
  /** Each with the rule that counts, from all settings together. */
  readonly tools: readonly { readonly name: string; readonly rule?: RemoteToolRule }[]
}

/** What is absent stays as it is; with `null` the definition counts again. */
export interface RemoteAgentChange {
  readonly name?: string | null
  readonly maxIterations?: number | null
  readonly contextWindowSize?: number | null
  readonly toolResultDuration?: number | null
  readonly plugins?: readonly {
    readonly id: string
    readonly enabled?: boolean | null
    readonly approval?: RemoteToolRule | null
    readonly timeoutMs?: number | null
    readonly toolResultDuration?: number | null
  }[]
}

/** What is set for all agents. A list of rules is replaced as a whole. */
export interface RemoteAgentDefaults {
  /** By the name of the tool. */
  readonly approval: Readonly<Record<string, RemoteToolRule>>
  /** How failed requests to a model are sent again. Default: the provider decides. */
  readonly retry?: {
    readonly maxAttempts?: number
    readonly initialDelayMs?: number
    readonly maxDelayMs?: number
    readonly backoffMultiplier?: number
    readonly maxRetryAfterMs?: number
    readonly maxTotalMs?: number
    readonly retryableStatusCodes?: readonly number[]
  }
}

/** Paths in the folder of the agent. */
export interface RemoteRollbackPlan {
  readonly restore: readonly string[]
  readonly delete: readonly string[]
  readonly conflicts: readonly { readonly path: string; readonly why: string }[]
}

export interface RemoteRollback {
  readonly restored: readonly string[]
  readonly deleted: readonly string[]
  readonly conflicts: readonly { readonly path: string; readonly why: string }[]
  readonly failed: readonly string[]
}

/** `HH:MM`. */
export interface RemoteActiveHours {
  readonly from: string
  readonly to: string
  readonly timeZone?: string
}

export type RemoteScheduleTime =
  | { readonly type: 'interval'; readonly everySeconds: number }
  | { readonly type: 'at'; readonly at: string; readonly repeatEveryMinutes?: number }
  | { readonly type: 'cron'; readonly expression: string; readonly timeZone?: string }

interface ScheduleFields {
  readonly name?: string
  readonly when: RemoteScheduleTime
  /** The message that the schedule sends to the agent. */
  readonly message: string
  readonly enabled?: boolean
  readonly activeHours?: RemoteActiveHours
  readonly maxRuns?: number
  readonly deleteAfterRun?: boolean
}

export interface NewRemoteSchedule extends ScheduleFields {
  readonly agentId: string
  readonly id?: string
}

/** A schedule with its progress. Alarms and heartbeats are schedules too. */
export interface RemoteSchedule extends ScheduleFields {
  readonly id: string
  readonly agentId: string
  readonly kind?: 'task' | 'alarm' | 'heartbeat'
  readonly createdAt: number
  readonly runs: number
  readonly lastRunAt?: number
  /** Absent if it is switched off or over. */
  readonly nextRunAt?: number
}

/** `null` removes a field. */
export type RemoteScheduleChange = Partial<
  Omit<ScheduleFields, 'name' | 'activeHours' | 'maxRuns'> & {
    readonly name: string | null
    readonly activeHours: RemoteActiveHours | null
    readonly maxRuns: number | null
  }
>
