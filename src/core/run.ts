import type { Behavior, ResolvedBehavior } from './behavior.ts'
import type { CallTimer } from './call-timer.ts'
import type { Cancellation } from './cancellation.ts'
import type { Clock } from './clock.ts'
import type { SchemaTool } from './define-tool.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { Child, ForkOptions } from './fork.ts'
import type { HookContexts } from './hook-map.ts'
import type { HandlerMap, HookScope, Hooks } from './hooks.ts'
import type { Inbox } from './inbox.ts'
import type { Interact } from './interaction.ts'
import type { EntryBody, Log } from './log.ts'
import type { Meta } from './meta.ts'
import type { Provider } from './provider.ts'
import type { RunFacts } from './run-facts.ts'
import type { Schema } from './schema.ts'
import type { SideCall, SideReply } from './side-call.ts'
import type { Session } from './store.ts'
import type { SystemPrompt } from './system-prompt.ts'
import type { ThinkingLevel, ThinkingRequest } from './thinking.ts'
import type { ToolDef } from './tool.ts'
import type { ToolCounts } from './tool-counts.ts'
import type { Toolbox } from './toolbox.ts'
import type { ImageBlock, PromptPart, TurnUsage } from './turn.ts'
import type { ChildRunStats } from './usage.ts'

export type AgentHookMap = HandlerMap<HookContexts>

/** What `agent.run()` takes. Everything is optional where a session has something to answer. */
export interface RunOptions<OutputSchema extends Schema = Schema> {
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
  /** Makes sending the same prompt twice harmless: the second time the run goes on where the first one stands. */
  readonly clientKey?: string
  /** Kept with the prompt and the run, never sent to a model: who sent it, a trace, a reply address. At most 8 KiB of JSON. */
  readonly meta?: Meta
}

/** Everything one `agent.run()` knows; the only object that the loop and the extensions share. */
export interface Run {
  readonly id: string
  readonly options: RunOptions
  readonly model: string
  readonly behavior: ResolvedBehavior
  /** What to ask for as long as nothing tapers it. */
  readonly thinking: ThinkingRequest
  /** The run of the agent above, for a child. */
  readonly parent: Run | undefined
  readonly hooks: Hooks<HookContexts>
  /** The only way to make something fact. Rejects when it cannot be written; then the run is over. */
  readonly log: Log
  readonly inbox: Inbox
  readonly cancellation: Cancellation
  /** Where calls run that run alone. */
  readonly callTimer: CallTimer
  readonly tools: Toolbox
  /** The tool set was chosen for this run, or for the run above it: nothing may be added to it. */
  readonly hasOwnTools: boolean
  readonly counts: ToolCounts
  readonly system: SystemPrompt
  readonly session: Session | undefined
  readonly execution: ExecutionContext | undefined
  readonly handle: ExecutionHandle | undefined
  readonly interact: Interact | undefined
  /** 0, or how many spawns lie above this run. */
  readonly depth: number
  readonly clock: Clock
  readonly newId: () => string
  /** Asks the model something that does not enter the conversation. Its cost is counted and logged under `cause`. */
  askAside(call: SideCall): Promise<SideReply>
  fork(callId: string, stop: Cancellation, options: ForkOptions | undefined): Promise<Child>

  // What changes as it goes
  /** Which run it is, as hooks and the log say it. Where the prompt waits in the session, its `meta` is known once that is open. */
  facts: RunFacts
  /** An extension may put a decorator around it before the first turn. */
  provider: Provider
  /** Model calls so far, the present one included. */
  turn: number
  usage: TurnUsage
  readonly turnUsage: TurnUsage[]
  readonly children: ChildRunStats[]
  /** Children at work, and what is still being written; a run does not end before they do. */
  readonly pending: Set<Promise<unknown>>
  /** Of these the children, by name. */
  readonly runningChildren: Map<string, Promise<unknown>>
  firstTokenAt: number | undefined
  /** Nothing is left but to tell of its end. */
  isOver: boolean
  stopReason: string
  /** The answer, where it is not what the model said last: a result that ended the run, for instance. */
  finalText: string
  output: unknown
}

/**
 * A feature. One instance serves an agent and its children, so what belongs to a run is kept in the closure of `start`;
 * everything hooked through `hooks` is undone when the run ends.
 */
export interface Extension {
  readonly name: string
  /** Slow preparations, once per agent, side by side with those of the others. */
  warmup?(host: ExtensionHost): Promise<void>
  /** What the log has to say of a run from its first entry on: written with that, in one append. */
  begin?(run: Run): readonly StateEntry[]
  start?(run: Run, hooks: HookScope<HookContexts>): void | Promise<void>
  dispose?(): Promise<void>
}

type StateEntry = Extract<EntryBody, { type: 'state' }>

export interface ExtensionHost {
  readonly hooks: Hooks<HookContexts>
  readonly clock: Clock
  /** Absent when nobody can be asked. */
  readonly interact?: Interact
  /** Where tools run, made ready if it is not yet; `undefined` where there is no such place. */
  place?(): Promise<{ readonly execution: ExecutionContext; readonly handle: ExecutionHandle } | undefined>
}
