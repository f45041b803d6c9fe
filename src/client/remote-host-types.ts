import type { Verdict } from '../core/authority.ts'
import type { RemoteToolRule } from './remote-agent-types.ts'

/** The caller and the server. */
export interface RemoteAbout {
  readonly version: string
  readonly user: string
  readonly tenant?: string
  readonly scopes: readonly ('read' | 'send' | 'answer' | 'admin')[]
  /** The name of the machine. */
  readonly host?: string
  /** Where sessions without a folder work; `~` is the home of the server's user. */
  readonly folder?: string
  /** What the host set up, such as `models`, `mcpLogin`, `agents`. Other routes answer with `not_offered`. */
  readonly offers: readonly string[]
}

export type RemoteMode = 'plan' | 'ask' | 'allowlist' | 'yolo'

/** A call whose decision is asked for. `tool` is a name, or `mcp:server.tool`. */
export interface RemotePolicyCase {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  /** As in this approval mode, instead of that of the settings. */
  readonly mode?: RemoteMode
}

export interface RemoteExplanation {
  readonly verdict: Verdict
  readonly by: string
  readonly rule: string | null
  readonly why: string
  readonly effects: readonly string[]
  /** The sandbox that its commands would run in; null if it runs none, or there is none. */
  readonly confinement: RemoteConfinement | 'outside' | null
  /** The same in words, if it runs commands. */
  readonly where?: string
  /** What rules of the tool are matched with. */
  readonly key?: string
}

export interface RemoteConfinement {
  readonly profile: 'read-only' | 'workspace-write'
  readonly reads: readonly string[]
  readonly writes: readonly string[]
  readonly hosts: 'any' | readonly string[]
  readonly home: 'empty' | 'readable'
}

/** Calls to be decided by the rules in force, or by those given. */
export interface RemotePolicyTest {
  readonly rules?: RemoteRuleSettings
  /** At most 100. */
  readonly cases: readonly (RemotePolicyCase & { readonly expect?: Verdict })[]
}

export type RemoteRuleEntry =
  | string
  | {
      readonly rule: string
      readonly why?: string
      readonly match?: readonly string[]
      readonly notMatch?: readonly string[]
    }

/** Rules as in `authority.json`. */
export interface RemoteRuleSettings {
  readonly mode?: RemoteMode
  readonly allow?: readonly RemoteRuleEntry[]
  readonly ask?: readonly RemoteRuleEntry[]
  readonly deny?: readonly RemoteRuleEntry[]
  readonly allowlist?: readonly RemoteRuleEntry[]
  readonly tools?: Readonly<Record<string, RemoteToolRule>>
  readonly workspaceReads?: 'allow' | 'ask'
}

export interface RemotePolicyResults {
  /** In the order of the cases. */
  readonly results: readonly (Partial<RemoteExplanation> & {
    readonly expect?: Verdict
    readonly passed: boolean
    /** It could not be decided. */
    readonly problem?: string
  })[]
  readonly passed: number
  readonly failed: number
}

/** The rules in force. */
export interface RemoteRules {
  readonly mode: RemoteMode
  readonly rules: readonly {
    readonly list: 'allow' | 'ask' | 'deny' | 'allowlist'
    readonly rule: string
    readonly layer: 'bundled' | 'global' | 'project' | 'launch'
    readonly why?: string
  }[]
  readonly tools: Readonly<Record<string, RemoteToolRule>>
  readonly workspaceReads: 'allow' | 'ask'
  readonly sandbox: { readonly profiles: readonly string[]; readonly by?: string; readonly why?: string }
  readonly warnings: readonly string[]
}

/** An approval that counts for longer than one call. */
export interface RemoteGrant {
  readonly id: string
  readonly tool: string
  /** The calls that it covers, in words. */
  readonly covers: string
  readonly scope: 'session' | 'project'
  readonly project: string
  readonly sessionId?: string
  readonly within?: RemoteConfinement | 'outside'
  /** Where its commands may run, in words. */
  readonly where?: string
  /** Files that must stay as they are. */
  readonly bound?: readonly string[]
  readonly grantedBy: string
  readonly grantedAt: number
  readonly expiresAt?: number
}

export interface RemoteAuditQuery {
  readonly limit?: number
  readonly session?: string
  readonly tool?: string
  readonly decision?: Verdict
  /** Only records that contain this. */
  readonly text?: string
  /** Default 30. */
  readonly days?: number
  readonly cursor?: string
}

/** One record of the audit: a decision, its call, or what became of it. */
export interface RemoteAuditRecord {
  readonly seq: number
  readonly at: string
  readonly class: string
  readonly event: string
  /** The command of the process that wrote it. */
  readonly command?: string
  readonly sessionId?: string
  readonly callId?: string
  readonly tool?: string
  readonly key?: string
  readonly approver?: string
  readonly decision?: Pick<RemoteExplanation, 'verdict' | 'by' | 'why'> & { readonly rule?: string }
  readonly details?: Readonly<Record<string, unknown>>
}

export interface RemoteMcpServer {
  /** Absent if its file was not opened. */
  readonly name?: string
  readonly transport?: string
  readonly from: string
  readonly where: string
  readonly state: 'used' | 'off' | 'shadowed' | 'wrong' | 'pending'
  readonly problem?: string
  /** In words. */
  readonly login?: string
  /** Set if a person can log in, or is logged in. */
  readonly isLoggedIn?: boolean
  /** A login that was begun and is not done. */
  readonly loginState?: { readonly state: 'open' } | { readonly state: 'failed'; readonly problem: string }
  /** As written, without secrets. */
  readonly entry?: unknown
}

/** What a server offers, or why it cannot be used. */
export interface RemoteMcpTest {
  readonly name: string
  readonly isOk: boolean
  readonly state: string
  readonly durationMs: number
  readonly protocolVersion?: string
  readonly tools: readonly { readonly name: string; readonly description: string }[]
  readonly notes: readonly string[]
  readonly problem?: string
  readonly stderr?: string
  readonly warning?: string
}

export interface RemoteTool {
  readonly name: string
  readonly layer: string
  /** `active`: agents have it. */
  readonly state: string
  readonly description?: string
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** Absent if they depend on the input or are unknown. */
  readonly effects?: readonly string[]
  /** Whether it has a key that rules can name; else an approval covers the same arguments only. */
  readonly isKeyed?: boolean
  readonly replay?: 'pure' | 'keyed' | 'opaque'
  readonly timeoutMs?: number
  readonly path?: string
  readonly shadows?: readonly string[]
  readonly diagnostic?: string
}

export interface RemoteSkill {
  readonly name: string
  readonly description?: string
  readonly source: 'project' | 'user' | 'inline' | 'builtin'
  /** `pending`: its project is not trusted. */
  readonly state: 'used' | 'left out' | 'wrong' | 'pending'
  readonly problem?: string
  readonly path?: string
  /** Only a person can activate it. */
  readonly isHidden?: boolean
  readonly allowedTools?: readonly string[]
  readonly paths?: readonly string[]
  readonly license?: string
  readonly compatibility?: string
  readonly model?: string
}

export interface RemoteModel {
  readonly id: string
  readonly provider: string
  readonly contextWindow?: number
  readonly maxOutput?: number
  readonly reasoning?: boolean
  /** Dollars per million tokens. */
  readonly inputPrice?: number
  readonly outputPrice?: number
  readonly isDefault?: true
  readonly isDeprecated?: true
}

/** A provider, and whether it has a key. */
export interface RemoteProvider {
  readonly name: string
  readonly isUsable: boolean
  readonly needsKey: boolean
  readonly key?: 'variable' | 'stored' | 'login'
  /** The environment variable that is set, or could be. */
  readonly variable?: string
  /** When the login ends. */
  readonly expires?: number
  readonly keyPage?: string
  readonly isConfigured?: true
}

/** A text, or an element of an allow-list. */
export type RemoteWikiNode =
  | string
  | {
      readonly tag: string
      readonly attributes?: Readonly<Record<string, string>>
      readonly children?: readonly RemoteWikiNode[]
    }
