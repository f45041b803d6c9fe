import type { FeatureHooks } from './feature-hooks.ts'
import type { Hooks } from './hooks.ts'
import type { Log, RunStatus } from './log.ts'
import type { Meta } from './meta.ts'
import type { ModelHooks, OfTurn } from './model-hooks.ts'
import type { RunFacts } from './run.ts'
import type { ToolHooks } from './tool-hooks.ts'
import type { SessionTurn } from './turn.ts'
import type { AgentStats, TurnRange, UndeliveredMessage } from './usage.ts'

/**
 * Every hook with its context. `readonly` fields are facts; the others are read back after the handlers were asked.
 * `names` below has the hooks in firing order.
 */
export interface HookContexts extends RunHooks, ModelHooks, ToolHooks, FeatureHooks, SpawnHooks, BubbledHooks {}

/** The hooks of a run and of its turns. */
interface RunHooks {
  'session:start': RunFacts
  /** The turns that were just written. */
  'session:turns': { readonly turns: readonly SessionTurn[]; readonly runId: string }
  /** Only when `run({ system })` was given. */
  'system:before': { system: string; readonly runId: string }
  /** Decides whether another turn follows: change `stop`, add text for the model to `add`, or fail the run with `error`. */
  'turn:next': OfTurn & { readonly turn: number; stop: boolean; readonly add: string[]; error?: unknown }
  'steer:inject': { readonly message: string; readonly mode: 'steer' | 'followUp'; readonly meta?: Meta }
  /** An accepted message will never be delivered: the agent was reset, or it has no session and was destroyed. */
  'steer:undelivered': UndeliveredMessage & { readonly reason: 'destroyed' | 'reset' }
  'agent:abort': { readonly runId: string }
  'agent:done': AgentStats
  'session:end': RunFacts & {
    readonly status: RunStatus
    readonly stopReason: string
    readonly turnRange: TurnRange
  }
  /** A handler of another hook failed. Without a handler of this hook, the error is written to the console. */
  'hook:error': { readonly hook: string; readonly error: unknown }
}

/** The hooks of starting child agents. */
interface SpawnHooks {
  /** The child exists and has not begun; a handler may follow its log and its hooks. */
  'spawn:before': OfChild & {
    readonly callId: string
    readonly task?: string
    /** A file that the parent or the child has read counts as read for both. */
    readonly shareReadState?: boolean
    readonly log: Log
    readonly hooks: Hooks<HookContexts>
  }
  'spawn:complete': OfChild & { readonly callId: string; readonly stats: AgentStats }
  'spawn:error': OfChild & { readonly callId: string; readonly error: unknown }
}

interface OfChild {
  readonly childId: string
  readonly depth: number
}

/**
 * Hooks of a child that also fire on its parent, as `child:…`. Both get the same object: a parent that blocks
 * `child:tool:gate` blocks the child's call.
 */
type BubbledHooks = {
  [Name in (typeof bubbled)[number] as `child:${Name}`]: (ModelHooks & ToolHooks & FeatureHooks)[Name] & OfChild
}

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
] as const satisfies readonly (keyof (ModelHooks & ToolHooks & FeatureHooks))[]

/** A record, so that the compiler notices a missing name. */
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

/** All names in firing order. `Hooks` refuses any other name. */
export const hookNames: ReadonlySet<keyof HookContexts> = new Set(Object.keys(names) as (keyof HookContexts)[])
