import type { AgentParts } from './agent.ts'
import { resolveBehavior } from './behavior.ts'
import { CallTimer } from './call-timer.ts'
import type { Cancellation } from './cancellation.ts'
import type { Clock } from './clock.ts'
import type { ExecutionHandle } from './execution.ts'
import type { Forking } from './fork.ts'
import type { HookContexts } from './hook-map.ts'
import type { Hooks } from './hooks.ts'
import type { Inbox } from './inbox.ts'
import type { Log } from './log.ts'
import { readMeta } from './meta.ts'
import type { Run, RunOptions } from './run.ts'
import { SystemPrompt } from './system-prompt.ts'
import { resolveThinking } from './thinking.ts'
import type { ToolDef } from './tool.ts'
import { ToolCounts } from './tool-counts.ts'
import { readTools, Toolbox } from './toolbox.ts'
import { noUsage } from './usage.ts'

/** What an agent gives to each of its runs. */
export interface RunDependencies {
  readonly parts: AgentParts
  readonly tools: readonly ToolDef[]
  readonly hooks: Hooks<HookContexts>
  readonly log: Log
  readonly inbox: Inbox
  readonly clock: Clock
  readonly newId: () => string
  readonly stop: Cancellation
  /** Where tools run; there once the agent is ready. */
  readonly handle: () => ExecutionHandle | undefined
  readonly makeChild: Forking['make']
}

/** A run that has not begun. Throws on options that cannot be meant. */
export function newRun(options: RunOptions, makings: RunDependencies): Run {
  const { parts, tools, hooks, log, inbox, clock, newId, stop, handle, makeChild } = makings
  const { provider, session, execution, lineage } = parts
  const depth = lineage?.depth ?? 0
  const behavior = resolveBehavior(parts.behavior, options.behavior)
  const { maxTokens, thinkingBudget: budget } = behavior
  const { capabilities } = provider.meta
  const system = new SystemPrompt()
  system.set('agent', parts.system ?? '')
  const id = newId()
  const meta = readMeta(options.meta, 'run() option "meta"')
  const run: Run = {
    id,
    options,
    model: options.model ?? provider.meta.defaultModel,
    behavior,
    thinking: resolveThinking({ level: options.thinking, budget, maxTokens, capabilities }),
    tools: new Toolbox(options.tools ? readTools(options.tools, 'run tools') : tools, depth),
    hasOwnTools: options.tools !== undefined || lineage?.run.hasOwnTools === true,
    counts: new ToolCounts(),
    callTimer: new CallTimer(clock, stop),
    parent: lineage?.run,
    ...{ provider, hooks, log, inbox, cancellation: stop, system, session, execution, depth, clock, newId },
    get handle() {
      return handle()
    },
    interact: parts.interact,
    // Few runs need these two; the others do not load them.
    askAside: async (call) => (await import('./side-call.ts')).askAside(run, call),
    fork: async (callId, stop, options) =>
      (await import('./fork.ts')).forkAgent({ run, callId, stop, options, make: makeChild }),
    facts: {
      runId: id,
      ...(parts.name !== undefined && { agent: parts.name }),
      ...(session && { sessionId: session.id }),
      depth,
      ...(lineage && { parent: lineage.parent }),
      ...(meta && { meta }),
    },
    turn: 0,
    usage: noUsage,
    turnUsage: [],
    children: [],
    pending: new Set(),
    runningChildren: new Map(),
    firstTokenAt: undefined,
    isOver: false,
    stopReason: 'end',
    finalText: '',
    output: undefined,
  }
  return run
}
