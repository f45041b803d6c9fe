import type { OfTurn } from './model-hooks.ts'
import type { JsonSchema } from './tool.ts'
import type { GateDecision, ToolHookContext } from './tool-hooks.ts'
import type { ToolOutput } from './turn.ts'

/** Hooks of features outside the core. They are declared here because `HookContexts` has to name every hook. */
export interface FeatureHooks extends ExtensionHooks, McpHooks, SkillHooks {}

/** Hooks of `src/extensions`. */
interface ExtensionHooks {
  /** The provider's cached prompt is void from `segment` on. */
  'cache:break': OfTurn & CacheBreak
  /** Fires before a summary is made. Handlers add texts that it must keep verbatim. */
  'compaction:before': OfTurn & { readonly toSeq: number; readonly pins: string[] }
  /** Older turns were replaced by a summary in the request. */
  'compaction:after': OfTurn & {
    readonly toSeq: number
    readonly bytesBefore: number
    readonly bytesAfter: number
    /** The summary was made by rule: no model was asked, or its answer was not usable. */
    readonly isFallback: boolean
  }
  'budget:exceeded': OfTurn & { readonly turn: number; readonly bytes: number; readonly budget: number }
  'tool-budget:exceeded': OfTurn & {
    readonly tool: string
    readonly count: number
    readonly max: number
    readonly mode: 'block' | 'steer'
  }
  /** A limit of `behavior.limits` is near (a note tells the model) or reached (the run ends). */
  'limit:near': OfTurn & LimitState
  'limit:reached': OfTurn & LimitState
  /** A limit ended the work; the reserve may be used for a final answer. */
  'limit:close': OfTurn
  output: { readonly output: unknown; readonly schema: JsonSchema }
}

/** The part of a cached prompt that changed, and why. */
export interface CacheBreak {
  /** The number of this model call in the run, from 1. */
  readonly turn: number
  /** Prompts are cached in this order; segments before this one stay cached. */
  readonly segment: 'model' | 'tools' | 'system' | 'settings' | 'turns'
  readonly cause: string
  /** For `turns`: the index of the first message that differs. */
  readonly message?: number
  /** Tokens of the last prompt that have to be read again. Absent if its size is not known. */
  readonly lostTokens?: number
}

/** How much of a limit is used. */
export interface LimitState {
  readonly limit: string
  readonly spent: number
  readonly max: number
}

/** Hooks of `src/mcp`. Those of a tool call fire around the call; the others when the agent warms up, and later. */
interface McpHooks {
  'mcp:tool:gate': McpToolHookContext & GateDecision
  'mcp:tool:before': McpToolHookContext
  'mcp:tool:transform': McpToolHookContext & { result: ToolOutput; isError: boolean; readonly outputBytes: number }
  'mcp:tool:after': McpToolHookContext & {
    readonly result: ToolOutput
    readonly isError: boolean
    readonly outputBytes: number
  }
  'mcp:bootstrap:start': McpServer
  'mcp:bootstrap:end': McpServer & {
    readonly durationMs: number
    readonly ok: boolean
    readonly toolCount?: number
    readonly error?: unknown
  }
  'mcp:connect': McpServer
  'mcp:error': McpServer & { readonly error: unknown }
  /** A connection was lost; the next attempt comes after `delayMs`. */
  'mcp:reconnect': McpServer & { readonly attempt: number; readonly delayMs: number; readonly reason: string }
  /** The server's tools changed. Names are those of the tools in this agent. */
  'mcp:tools:changed': McpServer & {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly changed: readonly string[]
  }
  /** A log message of a server: for people, never for the model. */
  'mcp:log': McpServer & { readonly level: string; readonly text: string }
  'mcp:auth:required': { readonly name: string }
  'mcp:auth:url': { readonly name: string; readonly url: string }
  'mcp:auth:success': { readonly name: string }
  'mcp:auth:error': { readonly name: string; readonly error: unknown }
}

export interface McpToolHookContext extends ToolHookContext {
  readonly server: string
  readonly tool: string
}

interface McpServer {
  readonly name: string
  readonly transport: string
}

/** Hooks of `src/skills`. */
interface SkillHooks {
  'skills:resolve': { readonly skills: readonly SkillOfHook[]; readonly problems: readonly SkillProblemOfHook[] }
  /** The text about available skills in the system prompt. A handler may change it; empty means none. */
  'skills:catalog': { catalog: string }
  'skills:activate': { readonly skill: SkillOfHook; readonly via: 'model' | 'explicit' | 'resume' }
  'skills:deactivate': { readonly skill: SkillOfHook; readonly reason: 'run-end' | 'explicit' | 'reset' }
}

interface SkillOfHook {
  readonly name: string
  readonly description: string
  readonly source: string
  /** Absent if the program defined the skill. */
  readonly folder?: string
}

interface SkillProblemOfHook {
  readonly path: string
  readonly problem: string
  /** The skill was not loaded because of the problem. */
  readonly isSkipped: boolean
}
