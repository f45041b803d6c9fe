import { AgentResources } from './agent-resources.ts'
import { AgentRuns } from './agent-runs.ts'
import type { Behavior } from './behavior.ts'
import type { ChildPreset, Lineage } from './children.ts'
import { type Clock, createIds, systemClock } from './clock.ts'
import type { SchemaTool } from './define-tool.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import { type HookContexts, hookNames } from './hook-map.ts'
import { Hooks, scopeOf, tier } from './hooks.ts'
import { Inbox } from './inbox.ts'
import type { Interact } from './interaction.ts'
import { Log } from './log.ts'
import { type Meta, parseMeta } from './meta.ts'
import type { Provider } from './provider.ts'
import type { AgentHookMap, Extension, RunDependencies, RunOptions } from './run.ts'
import { parsePrompt } from './run-options.ts'
import type { OutputOf, Schema } from './schema.ts'
import type { Session } from './store.ts'
import type { ToolDef } from './tool.ts'
import { parseTools } from './toolbox.ts'
import type { PromptPart, SessionTurn } from './turn.ts'
import { type AgentStats, undeliveredOf } from './usage.ts'

/** What `assembleAgent` takes. `createAgent` derives these from its options. */
export interface AgentParts {
  readonly provider: Provider
  readonly name?: string
  readonly system?: string
  readonly tools?: Readonly<Record<string, ToolDef | SchemaTool>>
  readonly behavior?: Behavior
  readonly session?: Session
  readonly extensions?: readonly Extension[]
  readonly hooks?: AgentHookMap
  readonly execution?: ExecutionContext
  readonly eager?: boolean
  readonly interact?: Interact
  readonly clock?: Clock
  readonly newId?: () => string
  /** The parts in which a child with this preset differs from its parent. */
  readonly childParts?: (preset: ChildPreset) => Partial<AgentParts>
  readonly lineage?: Lineage
  /** The extensions belong to the parent agent, which warms them up and disposes of them. */
  readonly borrowsExtensions?: boolean
}

/** Options of `agent.steer()` and `agent.followUp()`. */
export interface MessageOptions {
  /** A second message with the same key is ignored. */
  readonly clientKey?: string
  /** Stored with the message, never sent to a model: the sender, a trace, a reply address. At most 8 KiB of JSON. */
  readonly meta?: Meta
}

/** The embedder's handle on an agent. `OutputSchema` is the type of `behavior.schema`; it gives `stats.output` its type. */
export interface Agent<OutputSchema extends Schema = Schema> {
  readonly name: string | undefined
  readonly meta: Provider['meta']
  readonly hooks: Hooks<HookContexts>
  readonly log: Log
  readonly session: Session | undefined
  readonly turns: readonly SessionTurn[]
  readonly isRunning: boolean
  readonly execution: ExecutionContext | undefined
  /** Where tools run; present from the first run on. */
  readonly handle: ExecutionHandle | undefined
  /** Resolves when there is nothing left to do; rejects with an `AgentError` for failures that a caller can act on. */
  run<Asked extends Schema = OutputSchema>(options?: RunOptions<Asked>): Promise<AgentStats<OutputOf<Asked>>>
  abort(): void
  /**
   * Stops a run under way without ending its work: nothing is logged as aborted, and `run()` without a prompt, here or in
   * another process, continues it. Resolves when the session is free.
   */
  leave(): Promise<void>
  /** Delivers a message before the next turn; calls that have not started are skipped. Resolves once the message is durable. */
  steer(message: string | readonly PromptPart[], options?: MessageOptions): Promise<void>
  /** Delivers a message when the model is done. */
  followUp(message: string | readonly PromptPart[], options?: MessageOptions): Promise<void>
  /** Forgets turns and waiting messages. A session keeps its raw history. */
  reset(): Promise<void>
  warmup(): Promise<void>
  waitForIdle(): Promise<void>
  /** Cancels a run under way and frees all resources. Calling it again does nothing. */
  destroy(): Promise<void>
}

/** Creates an agent from its parts. Nothing is opened or started before it is needed. */
export function assembleAgent(parts: AgentParts): Agent {
  const { provider, session, execution, extensions = [], clock = systemClock, newId = createIds(), lineage } = parts
  const report = reportTo(() => hooks)
  const hooks: Hooks<HookContexts> = new Hooks(hookNames, report, lineage?.run.hooks)
  const log = session?.log ?? new Log({ clock, newId })
  const inbox = new Inbox(log, session)
  const tools = parseTools(parts.tools, 'tools')
  scopeOf(hooks, tier.agent).hookAll(parts.hooks)

  const resources = new AgentResources({
    execution,
    session,
    handle: lineage?.run.host.handle,
    extensions: parts.borrowsExtensions ? [] : extensions,
    host: {
      hooks,
      clock,
      ...(parts.interact && { interact: parts.interact }),
      openExecution: () => resources.openExecution(),
    },
  })
  const dependencies: RunDependencies = {
    parts,
    tools,
    hooks,
    log,
    inbox,
    clock,
    newId,
    handle: () => resources.handle,
    assembleChild: (lineage, session, preset) => assembleAgent(childPartsOf(parts, lineage, session, preset)),
  }
  const runs = new AgentRuns({ dependencies, resources, extensions, report })
  let destroyed: Promise<void> | undefined

  async function post(mode: 'steer' | 'followUp', message: unknown, options: MessageOptions = {}): Promise<void> {
    const { clientKey = newId(), meta } = options
    const content = parsePrompt(message)
    if (!content) throw new TypeError('There is no message; pass a text or a list of parts')
    if (runs.isClosed && !session)
      throw new Error('This agent was destroyed and has no session to keep the message in; create another agent')
    await inbox.post(mode, content, { clientKey, meta: parseMeta(meta, `the meta of ${mode}()`) })
  }

  async function reset(): Promise<void> {
    if (runs.isRunning) throw new Error('This agent is running; abort() it and wait for waitForIdle() before reset()')
    await resetLog(log, session, hooks)
  }

  async function destroy(): Promise<void> {
    await runs.close()
    if (!session)
      for (const message of undeliveredOf(log))
        await hooks.tell('steer:undelivered', { ...message, reason: 'destroyed' })
    await resources.dispose()
  }

  if (parts.eager) resources.warmInBackground()
  return {
    name: parts.name,
    meta: provider.meta,
    hooks,
    log,
    session,
    execution,
    get turns() {
      return log.transcript.completeTurns
    },
    get isRunning() {
      return runs.isRunning
    },
    get handle() {
      return resources.handle
    },
    run: ((options) => runs.run(options)) as Agent['run'], // the output passed the schema, which declares its type
    abort: () => runs.cancel(new Error('abort() was called')),
    leave: () => runs.leave(),
    steer: (message, options) => ignorable(post('steer', message, options)),
    followUp: (message, options) => ignorable(post('followUp', message, options)),
    reset() {
      const resetting = ignorable(reset())
      resources.waitFor(resetting)
      return resetting
    },
    warmup: () => resources.warmup(),
    waitForIdle: () => runs.idle(),
    destroy: () => (destroyed ??= destroy()),
  }
}

/** A child shares its parent's extensions and the place where tools run, but not its hooks: events bubble up instead. */
function childPartsOf(
  parts: AgentParts,
  lineage: Lineage,
  session: Session | undefined,
  preset: ChildPreset | undefined,
): AgentParts {
  const { session: _, hooks: __, eager: ___, name: ____, ...inherited } = parts
  const presetParts = preset && (parts.childParts?.(preset) ?? preset)
  const { tools, behavior } = lineage.run.settings.options // children get no tools that the run itself may not use
  const { schema: _____, ...limits } = { ...parts.behavior, ...behavior } // the output schema is for the parent only
  return {
    ...inherited,
    ...(tools && { tools }),
    ...presetParts,
    behavior: { ...limits, ...presetParts?.behavior },
    ...(session && { session }),
    lineage,
    borrowsExtensions: !presetParts?.extensions,
  }
}

/** Without a session the reset is synchronous: it is done before the promise is returned. */
async function resetLog(log: Log, session: Session | undefined, hooks: Hooks<HookContexts>): Promise<void> {
  if (session) await session.open()
  try {
    if (session) await (await import('./children.ts')).closeCallsInAllChildSessions(session)
    const undelivered = undeliveredOf(log)
    await log.append({ type: 'rewind', toSeq: 0 })
    for (const message of undelivered) void hooks.tell('steer:undelivered', { ...message, reason: 'reset' })
  } finally {
    await session?.release()
  }
}

/** Reports a failing handler through `hook:error`, or to the console if there is no handler or if that one failed. */
function reportTo(hooks: () => Hooks<HookContexts>): (hook: string, error: unknown) => void {
  return (hook, error) => {
    if (hook !== 'hook:error' && hooks().has('hook:error')) void hooks().tell('hook:error', { hook, error })
    else console.error(`libero: a handler of "${hook}" failed:`, error)
  }
}

/** A promise that the caller need not await: its rejection is never reported as unhandled. */
function ignorable(promise: Promise<void>): Promise<void> {
  promise.catch(() => {})
  return promise
}
