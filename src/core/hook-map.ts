import type { Decision, Effect, ToolOrigin } from './authority.ts'
import type { AgentError, AgentProviderError } from './errors.ts'
import type { Hooks } from './hooks.ts'
import type { Log, RunStatus, WantedSignature } from './log.ts'
import type { Meta } from './meta.ts'
import type { ModelRequest, Refusal, Repair, StopReason } from './provider.ts'
import type { RunFacts } from './run.ts'
import type { Session } from './store.ts'
import type { JsonSchema, ToolDef, ToolSpec } from './tool.ts'
import type { Coercion } from './tool-input.ts'
import type { Message, SessionContentBlock, SessionTurn, ToolOutput, TurnUsage } from './turn.ts'
import type { AgentStats, TurnRange, UndeliveredMessage } from './usage.ts'

type Counts = Readonly<Record<string, number>>

interface OfTurn {
  readonly turnId: string
}

/** What every tool hook knows. `name` is the canonical name, `displayName` the one the model used. */
export interface ToolHookContext extends OfTurn {
  readonly callId: string
  readonly name: string
  readonly displayName: string
  readonly input: Readonly<Record<string, unknown>>
  /** The call of a tool that made this one; absent for the model's own calls. */
  readonly parentCallId?: string
}

export interface McpToolHookContext extends ToolHookContext {
  readonly server: string
  readonly tool: string
}

interface Gate {
  block: boolean
  reason: string
  /** Stands in for the tool's own result. `block` beats it. */
  result?: ToolOutput | { readonly output: ToolOutput; readonly isError: boolean }
}

export interface Halt {
  readonly reason: string
  /** What is asked, for whoever shows the question. */
  readonly request?: unknown
  /** Names what would be approved; an answer counts only for the same. Default: the call's id. */
  readonly digest?: string
  /** An `allow` counts only if it is signed. */
  readonly signature?: WantedSignature
}

export interface Approval {
  readonly decision: 'allow' | 'deny' | 'expired'
  readonly digest: string
  readonly by: string
  readonly mac?: string
  readonly note?: readonly SessionContentBlock[]
}

interface OfChild {
  readonly childId: string
  readonly depth: number
}

/** What changed at the beginning of a prompt, and why. */
export interface CacheBreak {
  readonly turn: number
  /** Prompts are cached in this order; what stands before stays cached. */
  readonly segment: 'model' | 'tools' | 'system' | 'settings' | 'turns'
  readonly cause: string
  /** For `turns`: the index of the first message that differs. */
  readonly message?: number
  /** How much of the last prompt is lost, by its size in tokens. Absent when that is not known. */
  readonly lostTokens?: number
}

/** How far a limit is used up. */
export interface LimitState {
  readonly limit: string
  readonly spent: number
  readonly max: number
}

interface McpServer {
  readonly name: string
  readonly transport: string
}

interface SkillOfHook {
  readonly name: string
  readonly description: string
  readonly source: string
  /** Absent where it was written by the program. */
  readonly folder?: string
}

interface SkillProblemOfHook {
  readonly path: string
  readonly problem: string
  /** It was not loaded for it. */
  readonly isSkipped: boolean
}

/** Every moment, in firing order. `readonly` fields are not read back; the others are the question that is asked. */
export interface HookContexts {
  // A run begins
  'session:start': RunFacts
  /** The turns that were just written. */
  'session:turns': { readonly turns: readonly SessionTurn[]; readonly runId: string }
  /** Only when `run({ system })` was given. */
  'system:before': { system: string; readonly runId: string }

  // A turn
  /** The framework's own: before a consumer sees the messages. */
  'request:prepare': OfTurn & {
    readonly turn: number
    model: string
    messages: readonly Message[]
    tools: readonly ToolSpec[]
    thinkingBudget?: number
    /** Ends the run with this error; nothing is sent. */
    refuse?: AgentError
  }
  'context:transform': OfTurn & { messages: Message[] }
  'system:transform': OfTurn & { readonly turn: number; system: string; readonly session?: Session }
  'turn:before': OfTurn & { readonly turn: number; readonly options: ModelRequest }
  /** Of the prompt that the provider has cached, everything from `segment` on has to be read anew. */
  'cache:break': OfTurn & CacheBreak
  /** Something could not be sent as it is in the log; the request has it mended. */
  repair: OfTurn & Repair
  'oauth:refresh': OfTurn & { readonly provider: string; readonly expires?: number }
  /** The service accepted the request. */
  'stream:start': OfTurn & { readonly attempt: number }
  /** What was streamed so far is void. */
  'stream:retry': OfTurn & { readonly attempt: number; readonly reason: string; readonly delayMs?: number }
  'stream:thinking': OfTurn & { readonly delta: string; readonly text: string; readonly attempt: number }
  'stream:text': OfTurn & { readonly delta: string; readonly text: string; readonly attempt: number }
  'stream:tool:start': OfTurn & {
    readonly callId: string
    readonly name: string
    readonly displayName: string
    /** Absent where there is no such tool. */
    readonly origin?: ToolOrigin
  }
  'stream:tool:args': OfTurn & { readonly callId: string; readonly delta: string }
  'stream:tool:end': OfTurn & { readonly callId: string }
  /** Only when there was text. */
  'stream:end': OfTurn & { readonly text: string }
  /** The service will not read the conversation. Set `retry` after doing something about it; the request is built anew. */
  'request:refused': OfTurn & {
    readonly turn: number
    readonly request: ModelRequest
    readonly error: AgentProviderError
    readonly refused: Refusal
    retry: boolean
  }
  /** The request does not fit. Set `retry` after making it smaller; the request is built anew, once. */
  'request:overflow': OfTurn & {
    readonly turn: number
    readonly request: ModelRequest
    /** What the run ends with, unless there is a retry. */
    error: AgentProviderError
    retry: boolean
  }
  /** Before a summary is made: what has to survive it word for word. */
  'compaction:before': OfTurn & { readonly toSeq: number; readonly pins: string[] }
  /** What the model is shown of the past has become a summary. */
  'compaction:after': OfTurn & {
    readonly toSeq: number
    readonly bytesBefore: number
    readonly bytesAfter: number
    /** No model was asked, or none gave a usable answer: the summary was made by rule. */
    readonly isFallback: boolean
  }
  /** Always. The usage of a call that failed is that of what was streamed until then, else zero. */
  'turn:after': OfTurn & {
    readonly turn: number
    readonly usage: TurnUsage
    readonly stop: StopReason | 'error' | 'aborted'
    readonly message?: Message
    readonly sessionTurn?: SessionTurn
    readonly toolCounts: Counts
    readonly error?: Error
    /** What had been streamed when it failed; absent when nothing had come at all. */
    readonly partial?: string
    /** The text of that as a turn of the conversation; absent when there was none. */
    readonly interrupted?: SessionTurn
  }
  usage: OfTurn & { readonly turn: number; readonly usage: TurnUsage; readonly totals: TurnUsage }

  // A call
  'tool:gate': ToolHookContext &
    Gate & {
      readonly runToolCounts: Counts
      /** What would run, whatever its name means by now. */
      readonly tool: ToolDef | undefined
      readonly effects: readonly Effect[]
      /** Why it will not run whatever is decided: its arguments are wrong. */
      readonly rejected: string | undefined
      /** What somebody decided about this call since it was halted. A denial blocks, whatever a handler says. */
      readonly approval?: Approval
      /** Ends the run before this call and its neighbours start; they stay open, and wait for an answer in the log. */
      halt?: Halt
    }
  /** With an authority: a person is about to be asked about this call. A handler that knows that it cannot work blocks it. */
  'approval:before': ToolHookContext & { readonly tool: ToolDef; block: boolean; reason: string }
  /** With an authority: the session holds an `allow` for this call that does not count, for this `reason`. It is asked about again. */
  'approval:invalid': { readonly callId: string; readonly name: string; readonly by: string; readonly reason: string }
  /** With an authority: what it decided, and why. It is recorded already; nothing has run yet. */
  'tool:decision': ToolHookContext & {
    readonly decision: Decision
    /** Absent where nobody could tell what the call is. */
    readonly origin?: ToolOrigin
    readonly key?: string
    readonly digest?: string
    /** Who allowed or denied it, where a person did. */
    readonly approver?: string
  }
  'tool:unknown': ToolHookContext & { result?: ToolOutput; suppressError: boolean }
  'validation:reject': ToolHookContext & { readonly error: string }
  'validation:coerce': ToolHookContext & { readonly coercions: readonly Coercion[] }
  'tool:before': ToolHookContext & {
    readonly runToolCounts: Counts
    /** Absent when nothing had to be mended. */
    readonly coercions?: readonly Coercion[]
    /** What a file held before it is overwritten. */
    readonly priorContent?: string
  }
  'mcp:tool:gate': McpToolHookContext & Gate
  'mcp:tool:before': McpToolHookContext
  'mcp:tool:transform': McpToolHookContext & { result: ToolOutput; isError: boolean; readonly outputBytes: number }
  'mcp:tool:after': McpToolHookContext & {
    readonly result: ToolOutput
    readonly isError: boolean
    readonly outputBytes: number
  }
  'tool:progress': ToolHookContext & { readonly text: string }
  'tool:error': ToolHookContext & { readonly error: unknown; result?: ToolOutput }
  /** `original` and its size `outputBytes` are what the tool gave, before any handler changed something. */
  'tool:transform': ToolHookContext & {
    result: ToolOutput
    isError: boolean
    readonly original: ToolOutput
    readonly outputBytes: number
    readonly details?: unknown
  }
  /** `outputBytes` is the size of what the model will see. */
  'tool:after': ToolHookContext & {
    readonly result: ToolOutput
    readonly isError: boolean
    readonly outputBytes: number
    readonly runToolCounts: Counts
    readonly details?: unknown
  }

  // The end of a turn
  'tool-results:after': OfTurn & { readonly assistantTurn: SessionTurn; readonly resultTurn: SessionTurn }
  'budget:exceeded': OfTurn & { readonly turn: number; readonly bytes: number; readonly budget: number }
  'tool-budget:exceeded': OfTurn & {
    readonly tool: string
    readonly count: number
    readonly max: number
    readonly mode: 'block' | 'steer'
  }
  /** A limit of `behavior.limits` is near (the model is told) or reached (the run ends). */
  'limit:near': OfTurn & LimitState
  'limit:reached': OfTurn & LimitState
  /** A limit has ended the work, and what is kept in reserve may be used for a last answer. */
  'limit:close': OfTurn
  output: { readonly output: unknown; readonly schema: JsonSchema }
  /** What now? Extensions have the last word: change `stop`, speak to the model through `add`, or end it all with `error`. */
  'turn:next': OfTurn & { readonly turn: number; stop: boolean; readonly add: string[]; error?: unknown }
  'steer:inject': { readonly message: string; readonly mode: 'steer' | 'followUp'; readonly meta?: Meta }
  /** A message that was accepted and will never be delivered: its agent has no session and was destroyed, or was reset. */
  'steer:undelivered': UndeliveredMessage & { readonly reason: 'destroyed' | 'reset' }

  // Children
  /** The child is there and has not begun; its own log and hooks can be followed from here. */
  'spawn:before': OfChild & {
    readonly callId: string
    readonly task?: string
    /** What either of the two has read counts for both. */
    readonly shareReadState?: boolean
    readonly log: Log
    readonly hooks: Hooks<HookContexts>
  }
  'spawn:complete': OfChild & { readonly callId: string; readonly stats: AgentStats }
  'spawn:error': OfChild & { readonly callId: string; readonly error: unknown }
  'child:stream:text': HookContexts['stream:text'] & OfChild
  'child:stream:thinking': HookContexts['stream:thinking'] & OfChild
  'child:stream:end': HookContexts['stream:end'] & OfChild
  /** The very object the child waits on: blocking it here blocks the child's call. */
  'child:tool:gate': HookContexts['tool:gate'] & OfChild
  'child:mcp:tool:gate': HookContexts['mcp:tool:gate'] & OfChild
  'child:tool:before': HookContexts['tool:before'] & OfChild
  'child:tool:after': HookContexts['tool:after'] & OfChild
  'child:tool:error': HookContexts['tool:error'] & OfChild
  'child:turn:after': HookContexts['turn:after'] & OfChild

  // The run ends
  'agent:abort': { readonly runId: string }
  'agent:done': AgentStats
  'session:end': RunFacts & {
    readonly status: RunStatus
    readonly stopReason: string
    readonly turnRange: TurnRange
  }

  // Once per agent, when it warms up
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
  /** What the server offers is another set of tools than before, by their names here. */
  'mcp:tools:changed': McpServer & {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly changed: readonly string[]
  }
  /** What a server wants to have logged: its own words, for people, never for the model. */
  'mcp:log': McpServer & { readonly level: string; readonly text: string }
  'mcp:auth:required': { readonly name: string }
  'mcp:auth:url': { readonly name: string; readonly url: string }
  'mcp:auth:success': { readonly name: string }
  'mcp:auth:error': { readonly name: string; readonly error: unknown }
  'skills:resolve': { readonly skills: readonly SkillOfHook[]; readonly problems: readonly SkillProblemOfHook[] }
  /** What the model is told of the skills there are; left empty, it is told of none. */
  'skills:catalog': { catalog: string }
  'skills:activate': { readonly skill: SkillOfHook; readonly via: 'model' | 'explicit' | 'resume' }
  'skills:deactivate': { readonly skill: SkillOfHook; readonly reason: 'run-end' | 'explicit' | 'reset' }

  /** A handler of another hook failed. Without a handler here it goes to the console. */
  'hook:error': { readonly hook: string; readonly error: unknown }
}

/** What a child's parent hears of it. */
export const bubbled = [
  'stream:text',
  'stream:thinking',
  'stream:end',
  'tool:gate',
  'mcp:tool:gate',
  'tool:before',
  'tool:after',
  'tool:error',
  'turn:after',
] as const satisfies readonly (keyof HookContexts)[]

const names: Record<keyof HookContexts, true> = {
  'session:start': true,
  'session:turns': true,
  'system:before': true,
  'request:prepare': true,
  'context:transform': true,
  'system:transform': true,
  'turn:before': true,
  'cache:break': true,
  repair: true,
  'oauth:refresh': true,
  'stream:start': true,
  'stream:retry': true,
  'stream:thinking': true,
  'stream:text': true,
  'stream:tool:start': true,
  'stream:tool:args': true,
  'stream:tool:end': true,
  'stream:end': true,
  'request:refused': true,
  'request:overflow': true,
  'compaction:before': true,
  'compaction:after': true,
  'turn:after': true,
  usage: true,
  'tool:gate': true,
  'approval:before': true,
  'approval:invalid': true,
  'tool:decision': true,
  'tool:unknown': true,
  'validation:reject': true,
  'validation:coerce': true,
  'tool:before': true,
  'mcp:tool:gate': true,
  'mcp:tool:before': true,
  'mcp:tool:transform': true,
  'mcp:tool:after': true,
  'tool:progress': true,
  'tool:error': true,
  'tool:transform': true,
  'tool:after': true,
  'tool-results:after': true,
  'budget:exceeded': true,
  'tool-budget:exceeded': true,
  'limit:near': true,
  'limit:reached': true,
  'limit:close': true,
  output: true,
  'turn:next': true,
  'steer:inject': true,
  'steer:undelivered': true,
  'spawn:before': true,
  'spawn:complete': true,
  'spawn:error': true,
  'child:stream:text': true,
  'child:stream:thinking': true,
  'child:stream:end': true,
  'child:tool:gate': true,
  'child:mcp:tool:gate': true,
  'child:tool:before': true,
  'child:tool:after': true,
  'child:tool:error': true,
  'child:turn:after': true,
  'agent:abort': true,
  'agent:done': true,
  'session:end': true,
  'mcp:bootstrap:start': true,
  'mcp:bootstrap:end': true,
  'mcp:connect': true,
  'mcp:error': true,
  'mcp:reconnect': true,
  'mcp:tools:changed': true,
  'mcp:log': true,
  'mcp:auth:required': true,
  'mcp:auth:url': true,
  'mcp:auth:success': true,
  'mcp:auth:error': true,
  'skills:resolve': true,
  'skills:catalog': true,
  'skills:activate': true,
  'skills:deactivate': true,
  'hook:error': true,
}

/** For the typo guard: every name there is. */
export const hookNames: ReadonlySet<keyof HookContexts> = new Set(Object.keys(names) as (keyof HookContexts)[])
