import type { AgentParts } from './agent.ts'
import { type Behavior, type ResolvedBehavior, resolveBehavior } from './behavior.ts'
import { CallTimer } from './call-timer.ts'
import type { Cancellation } from './cancellation.ts'
import type { Child, ChildOptions, ChildRequest } from './children.ts'
import type { Clock } from './clock.ts'
import type { SchemaTool } from './define-tool.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { HookContexts } from './hook-map.ts'
import type { HandlerMap, HookScope, Hooks } from './hooks.ts'
import type { Inbox } from './inbox.ts'
import type { Interact } from './interaction.ts'
import type { EntryBody, Log, ParentCall } from './log.ts'
import { type Meta, parseMeta } from './meta.ts'
import type { Provider } from './provider.ts'
import type { Schema } from './schema.ts'
import type { SideCall, SideReply } from './side-call.ts'
import type { Session } from './store.ts'
import { resolveThinking, type ThinkingLevel, type ThinkingRequest } from './thinking.ts'
import type { ToolDef } from './tool.ts'
import { parseTools, Toolbox } from './toolbox.ts'
import type { ImageBlock, PromptPart, TurnUsage } from './turn.ts'
import { type ChildRunStats, noUsage } from './usage.ts'

export type AgentHookMap = HandlerMap<HookContexts>

/** Options of `agent.run()`. */
export interface RunOptions<OutputSchema extends Schema = Schema> {
  /** May be absent: the run then goes on with the open calls and waiting messages of the session. */
  readonly prompt?: string | readonly PromptPart[]
  readonly model?: string
  /** Added to the agent's own system prompt, for this run. */
  readonly system?: string
  readonly thinking?: ThinkingLevel
  readonly behavior?: Behavior<OutputSchema>
  /** Replaces the whole tool set; `{}` means no tools. */
  readonly tools?: Readonly<Record<string, ToolDef | SchemaTool>>
  readonly images?: readonly (ImageBlock | Omit<ImageBlock, 'type'>)[]
  readonly signal?: AbortSignal
  readonly hooks?: AgentHookMap
  /** If a prompt with this key is already in the session, it is not added again; the run continues from it. */
  readonly clientKey?: string
  /** Stored with the prompt and the run, never sent to a model: the sender, a trace, a reply address. At most 8 KiB of JSON. */
  readonly meta?: Meta
}

/** The state of one `agent.run()`: the only object that the loop and the extensions share. */
export interface Run {
  readonly id: string
  /**
   * Identifies the run in hooks and in the log. Replaced while the run starts: a run without a prompt gets the `meta` of the
   * message that it answers, and `continues`; an authority may add `unconfined`.
   */
  facts: RunFacts
  readonly settings: RunSettings
  /** The run of the parent agent, if this is the run of a child. */
  readonly parent: Run | undefined
  /** Handlers that are told (`tell`) observe; handlers that are asked (`ask`) may change the context. */
  readonly hooks: Hooks<HookContexts>
  /** Entries become part of the session by being appended here. An append that cannot be written rejects, and the run ends. */
  readonly log: Log
  readonly session: Session | undefined
  readonly inbox: Inbox
  readonly cancellation: Cancellation
  /** Enforces the time limit of a call that runs alone. The calls of a concurrent wave have timers of their own. */
  readonly callTimer: CallTimer
  readonly tools: Toolbox
  readonly system: SystemPrompt
  /** An extension may decorate it before the first turn. */
  provider: Provider
  readonly host: RunHost
  readonly clock: Clock
  readonly newId: () => string
  readonly children: RunChildren
  readonly progress: RunProgress
  readonly result: RunResult
  /** Asks the model a question outside the conversation. Its cost is counted and logged under `call.cause`. */
  askAside(call: SideCall): Promise<SideReply>
}

/** The configuration of a run: its options, and what follows from them. */
interface RunSettings {
  readonly options: RunOptions
  readonly model: string
  readonly behavior: ResolvedBehavior
  /** The thinking level to request. `behavior.thinkingDecay` may lower it in later turns. */
  readonly thinking: ThinkingRequest
}

/** What the host program provides: where tools run, and how to ask a person. */
interface RunHost {
  readonly execution: ExecutionContext | undefined
  /** Present once the agent is ready. */
  readonly handle: ExecutionHandle | undefined
  readonly interact: Interact | undefined
}

/** The child agents of a run. */
interface RunChildren {
  /** Stats of the finished children, in the order in which they finished. */
  readonly stats: ChildRunStats[]
  /** The children at work, by name. */
  readonly running: Map<string, Promise<unknown>>
  create(callId: string, cancellation: Cancellation, options: ChildOptions | undefined): Promise<Child>
}

/** How far a run has come. */
export interface RunProgress {
  /** How many model calls this run has made, the present one included. Hooks get it as `turn`. */
  turnNumber: number
  usage: TurnUsage
  readonly turnUsage: TurnUsage[]
  firstTokenAt: number | undefined
  /** The reply that is being streamed. */
  openReply: OpenReply | undefined
  /** Turns in a row in which no call had readable arguments. */
  unreadableTurns: number
  /** An extension counts the requests that end without a reply. */
  areFailuresCounted: boolean
  /** What the run waits for before it ends: children, and work of extensions that still writes to the log. */
  readonly pending: Set<Promise<unknown>>
  /** The loop and all pending work have ended. Only the last entries and the hooks at the end of the run are still to come. */
  isOver: boolean
}

/** What was streamed of a reply so far, in its present attempt. */
export interface OpenReply {
  readonly turnId: string
  readonly attempt: number
  readonly text: string
  readonly thinking: string
  readonly calls: readonly { readonly callId: string; readonly name: string; readonly args: string }[]
}

/** How a run ends. */
interface RunResult {
  stopReason: string
  /** Set by an extension that did all the work of this run in its `start`: the model is not asked. */
  isDone?: true
  /** The answer, unless the last text of the model is the answer: for instance a tool result that ended the run. */
  text: string
  /** The structured answer. */
  output: unknown
}

/** Identifies a run: its agent and session, the parent's call for which it works, the sender of the message that it answers. */
export interface RunFacts {
  readonly runId: string
  /** The agent's name, where it has one. */
  readonly agent?: string
  readonly sessionId?: string
  /** 0 for an agent that was not spawned, 1 for its children, and so on. */
  readonly depth: number
  /** The call that a child works for. */
  readonly parent?: ParentCall
  /** What the sender attached to the message, such as a trace or a reply address. */
  readonly meta?: Meta
  /** The run that this one goes on with: it was suspended, left or failed, or its process died. */
  readonly continues?: ContinuedRun
  /** Why commands run without a question and without a sandbox, in words for a person. Absent if commands do not run so. */
  readonly unconfined?: string
}

/** What a run knows of the unfinished run with which it goes on. */
export interface ContinuedRun {
  readonly runId: string
  /** The span of the unfinished run, as a `traceparent`, if it was traced. */
  readonly trace?: string
  /** The unfinished run was not run by this process. */
  readonly isFromElsewhere: boolean
}

/**
 * A feature on the hooks. One instance serves an agent and its children, so state of a run belongs into the closure of
 * `start`. Handlers added through `hooks` are removed when the run ends.
 */
export interface Extension {
  readonly name: string
  /** Slow preparation, once per agent, concurrent with that of other extensions. */
  warmup?(host: ExtensionHost): Promise<void>
  /** Gives state entries that are written with the first entry of the run, in one append. Called when `run.facts` may still be changed. */
  stateEntries?(run: Run): readonly StateEntry[]
  start?(run: Run, hooks: HookScope<HookContexts>): void | Promise<void>
  dispose?(): Promise<void>
}

type StateEntry = Extract<EntryBody, { type: 'state' }>

export interface ExtensionHost {
  readonly hooks: Hooks<HookContexts>
  readonly clock: Clock
  /** Absent if there is no person to ask. */
  readonly interact?: Interact
  /** Opens the place where tools run, if it is not open yet; `undefined` without an execution context. */
  openExecution?(): Promise<{ readonly execution: ExecutionContext; readonly handle: ExecutionHandle } | undefined>
}

/** What an agent passes to each of its runs. */
export interface RunDependencies {
  readonly parts: AgentParts
  readonly tools: readonly ToolDef[]
  readonly hooks: Hooks<HookContexts>
  readonly log: Log
  readonly inbox: Inbox
  readonly clock: Clock
  readonly newId: () => string
  /** Where tools run; present once the agent is ready. */
  readonly handle: () => ExecutionHandle | undefined
  readonly assembleChild: ChildRequest['assembleChild']
}

/** Creates a run that has not begun. Throws on invalid options. */
export function newRun(options: RunOptions, cancellation: Cancellation, dependencies: RunDependencies): Run {
  const { parts, hooks, log, inbox, clock, newId, assembleChild } = dependencies
  const { provider, session, lineage } = parts
  const depth = lineage?.depth ?? 0
  const behavior = resolveBehavior(parts.behavior, options.behavior)
  const { maxTokens, thinkingBudget: budget } = behavior
  const { capabilities } = provider.meta
  const system = new SystemPrompt()
  system.set('agent', parts.system ?? '')
  const id = newId()
  const meta = parseMeta(options.meta, 'run() option "meta"')
  const run: Run = {
    id,
    facts: {
      runId: id,
      ...(parts.name !== undefined && { agent: parts.name }),
      ...(session && { sessionId: session.id }),
      depth,
      ...(lineage && { parent: lineage.parent }),
      ...(meta && { meta }),
    },
    settings: {
      options,
      model: options.model ?? provider.meta.defaultModel,
      behavior,
      thinking: resolveThinking({ level: options.thinking, budget, maxTokens, capabilities }),
    },
    parent: lineage?.run,
    ...{ hooks, log, session, inbox, cancellation, system, provider, clock, newId },
    callTimer: new CallTimer(clock, cancellation),
    tools: new Toolbox(options.tools ? parseTools(options.tools, 'run tools') : dependencies.tools, {
      depth,
      isFixed: options.tools !== undefined || lineage?.run.tools.isFixed === true,
    }),
    host: {
      execution: parts.execution,
      get handle() {
        return dependencies.handle()
      },
      interact: parts.interact,
    },
    children: {
      stats: [],
      running: new Map(),
      create: async (callId, cancellation, options) =>
        (await import('./children.ts')).createChild({ run, callId, cancellation, options, assembleChild }),
    },
    progress: {
      turnNumber: 0,
      usage: noUsage,
      turnUsage: [],
      firstTokenAt: undefined,
      openReply: undefined,
      unreadableTurns: 0,
      areFailuresCounted: false,
      pending: new Set(),
      isOver: false,
    },
    result: { stopReason: 'end', text: '', output: undefined },
    // Like `createChild`, loaded on first use: few runs need it.
    askAside: async (call) => (await import('./side-call.ts')).askAside(run, call),
  }
  return run
}

/** The system prompt in named sections. A section that changes after the first turn makes the provider's prompt cache miss. */
export class SystemPrompt {
  readonly #sections = new Map<string, string>()
  #text: string | undefined

  /** Sections appear in the order in which they were first set; empty ones are left out. */
  set(name: string, text: string): void {
    this.#sections.set(name, text)
    this.#text = undefined
  }

  /** By name, in order. */
  get sections(): ReadonlyMap<string, string> {
    return this.#sections
  }

  get text(): string {
    this.#text ??= [...this.#sections.values()].filter((section) => section !== '').join('\n\n')
    return this.#text
  }
}
