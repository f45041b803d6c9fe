import { AgentResources } from './agent-resources.ts'
import type { Behavior } from './behavior.ts'
import { Cancellation, followSignal } from './cancellation.ts'
import { type Clock, createIds, systemClock } from './clock.ts'
import type { SchemaTool } from './define-tool.ts'
import type { ExecutionContext, ExecutionHandle } from './execution.ts'
import type { ChildPreset, Lineage } from './fork.ts'
import { type HookContexts, hookNames } from './hook-map.ts'
import { Hooks, scopeOf, tier } from './hooks.ts'
import { Inbox } from './inbox.ts'
import type { Interact } from './interaction.ts'
import { Log } from './log.ts'
import { type Meta, readMeta } from './meta.ts'
import { newRun } from './new-run.ts'
import type { Provider } from './provider.ts'
import type { AgentHookMap, Extension, Run, RunOptions } from './run.ts'
import { executeRun } from './run-lifecycle.ts'
import { checkRunOptions, readPrompt } from './run-options.ts'
import type { OutputOf, Schema } from './schema.ts'
import type { Session } from './store.ts'
import type { ToolDef } from './tool.ts'
import { readTools } from './toolbox.ts'
import type { PromptPart, SessionContentBlock, SessionTurn } from './turn.ts'
import { type AgentStats, undeliveredOf } from './usage.ts'

/** What an agent is put together from. `createAgent` makes these out of friendlier options. */
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
  /** What a child is made of, when it is to differ from its parent. */
  readonly childParts?: (preset: ChildPreset) => Partial<AgentParts>
  readonly lineage?: Lineage
  /** The extensions belong to a parent, who warms them up and disposes of them. */
  readonly borrowsExtensions?: boolean
}

/** What goes with a message to a run under way. */
export interface MessageOptions {
  /** The same key again is the same message. */
  readonly clientKey?: string
  /** Kept with the message, never sent to a model: who sent it, a trace, a reply address. At most 8 KiB of JSON. */
  readonly meta?: Meta
}

/** The handle an embedder holds. `OutputSchema` is its `behavior.schema`, by which `stats.output` has its type. */
export interface Agent<OutputSchema extends Schema = Schema> {
  readonly name: string | undefined
  readonly meta: Provider['meta']
  readonly hooks: Hooks<HookContexts>
  readonly log: Log
  readonly session: Session | undefined
  readonly turns: readonly SessionTurn[]
  readonly isRunning: boolean
  readonly execution: ExecutionContext | undefined
  /** Where tools run; there from the first run on. */
  readonly handle: ExecutionHandle | undefined
  /** Resolves when there is nothing left to do, rejects with an `AgentError` where a caller would act on it. */
  run<Asked extends Schema = OutputSchema>(options?: RunOptions<Asked>): Promise<AgentStats<OutputOf<Asked>>>
  abort(): void
  /** Delivered between two tool calls. Resolves once the message cannot be lost any more. */
  steer(message: string | readonly PromptPart[], options?: MessageOptions): Promise<void>
  /** Delivered when the model is done. */
  followUp(message: string | readonly PromptPart[], options?: MessageOptions): Promise<void>
  /** Forgets turns and queues. A session keeps its raw history. */
  reset(): Promise<void>
  warmup(): Promise<void>
  waitForIdle(): Promise<void>
  /** Stops a run under way and lets go of everything. Doing it twice is harmless. */
  destroy(): Promise<void>
}

export function assembleAgent(parts: AgentParts): Agent {
  const { provider, session, execution, extensions = [], clock = systemClock, newId = createIds(), lineage } = parts
  const tools = readTools(parts.tools, 'tools')
  const report = reportTo(() => hooks)
  const hooks: Hooks<HookContexts> = new Hooks(hookNames, report, lineage?.run.hooks)
  const log = session?.log ?? new Log({ clock, newId })
  const inbox = new Inbox(log, session)
  scopeOf(hooks, tier.agent).hookAll(parts.hooks)

  const readiness = new AgentResources({
    execution,
    session,
    handle: lineage?.run.handle,
    extensions: parts.borrowsExtensions ? [] : extensions,
    host: { hooks, clock, ...(parts.interact && { interact: parts.interact }), place: () => readiness.place() },
  })
  const makings = { parts, tools, hooks, log, inbox, clock, newId, handle: () => readiness.handle, makeChild }
  let active: { readonly stop: Cancellation; readonly idle: Promise<unknown> } | undefined
  let latest: Run | undefined
  let destroyed: Promise<void> | undefined

  async function run(options: RunOptions = {}): Promise<AgentStats> {
    if (destroyed) throw new Error('This agent was destroyed; create another one')
    if (active) throw new Error('This agent is already running; use steer(), followUp() or waitForIdle()')
    checkRunOptions(options)
    const prompt = readPrompt(options.prompt, options.images)
    const stop = new Cancellation()
    const ours = scopeOf(hooks, tier.run)
    const unfollow = followSignal(options.signal, stop)
    try {
      ours.hookAll(options.hooks)
      const work = begin(options, prompt, stop)
      active = { stop, idle: work.catch(() => {}) }
      return await work
    } finally {
      ours.dispose()
      unfollow()
      active = undefined
    }
  }

  async function begin(
    options: RunOptions,
    prompt: SessionContentBlock[] | undefined,
    stop: Cancellation,
  ): Promise<AgentStats> {
    const listening = new Cancellation()
    let listener: Promise<void> | undefined
    let unheed: (() => void) | undefined
    try {
      latest = newRun(options, { ...makings, stop })
      return await executeRun(latest, {
        prompt,
        extensions,
        async prepare() {
          await readiness.prepare(stop)
          // What waited until the session was open was for an earlier run, or for none.
          unheed = session && inbox.onStopRequest(() => stop.cancel(new Error('a message in the inbox said stop')))
          // Without it no message from elsewhere arrives; whether the session can be written, its appends will tell.
          listener = session
            ?.listen(listening.signal, (lost) => stop.cancel(lost))
            .catch((error) => report('session:listen', error))
        },
      })
    } finally {
      listening.cancel()
      await listener
      unheed?.()
      if (listener) await session?.release()
    }
  }

  /** A handler that hears of the end and waits for it would wait for itself. */
  async function idle(): Promise<void> {
    if (!latest?.isOver) await active?.idle
  }

  /** Children share the extensions and the place where tools run; hooks they do not: their events bubble. */
  function makeChild(lineage: Lineage, childSession: Session | undefined, preset: ChildPreset | undefined): Agent {
    const { session: _, hooks: __, eager: ___, name: ____, ...inherited } = parts
    const own = preset && (parts.childParts?.(preset) ?? preset)
    const { tools, behavior } = lineage.run.options // what a run may not use, its children may not either
    const { schema: _____, ...limits } = { ...parts.behavior, ...behavior } // the answer's shape is the parent's own
    const borrowsExtensions = !own?.extensions
    return assembleAgent({
      ...inherited,
      ...(tools && { tools }),
      ...own,
      behavior: { ...limits, ...own?.behavior },
      ...(childSession && { session: childSession }),
      lineage,
      borrowsExtensions,
    })
  }

  /** Without a session it is done when the call returns. */
  async function reset(): Promise<void> {
    if (active) throw new Error('This agent is running; abort() it and wait for waitForIdle() before reset()')
    if (session) await session.open()
    try {
      if (session) await (await import('./abandoned-child.ts')).abandonOpenCalls(session)
      const undelivered = undeliveredOf(log)
      await log.append({ type: 'rewind', toSeq: 0 })
      for (const message of undelivered) void hooks.tell('steer:undelivered', { ...message, reason: 'reset' })
    } finally {
      await session?.release()
    }
  }

  async function post(
    mode: 'steer' | 'followUp',
    message: string | readonly PromptPart[],
    { clientKey = newId(), meta }: MessageOptions = {},
  ): Promise<void> {
    const content = readPrompt(message)
    if (!content) throw new TypeError('There is no message; pass a text or a list of parts')
    if (destroyed && !session)
      throw new Error('This agent was destroyed and has no session to keep the message in; create another agent')
    await inbox.post(mode, content, { clientKey, meta: readMeta(meta, `the meta of ${mode}()`) })
  }

  const agent: Agent = {
    name: parts.name,
    meta: provider.meta,
    hooks,
    log,
    session,
    execution,
    get turns() {
      return log.transcript.settledTurns
    },
    get isRunning() {
      return active !== undefined
    },
    get handle() {
      return readiness.handle
    },
    run: run as Agent['run'], // the schema has seen the output, and says its type
    abort: () => active?.stop.cancel(new Error('abort() was called')),
    steer: (message, options) => unlessForgotten(post('steer', message, options)),
    followUp: (message, options) => unlessForgotten(post('followUp', message, options)),
    reset() {
      const resetting = unlessForgotten(reset())
      readiness.waitFor(resetting)
      return resetting
    },
    warmup: () => readiness.warmup(),
    waitForIdle: idle,
    destroy() {
      destroyed ??= (async () => {
        active?.stop.cancel(new Error('destroy() was called'))
        await idle()
        if (!session)
          for (const message of undeliveredOf(log))
            await hooks.tell('steer:undelivered', { ...message, reason: 'destroyed' })
        await readiness.dispose()
      })()
      return destroyed
    },
  }
  if (parts.eager) readiness.warmInBackground()
  return agent
}

/** A failing handler must be seen, and a failing `hook:error` handler must not go round in circles. */
function reportTo(hooks: () => Hooks<HookContexts>): (hook: string, error: unknown) => void {
  return (hook, error) => {
    if (hook !== 'hook:error' && hooks().has('hook:error')) void hooks().tell('hook:error', { hook, error })
    else console.error(`libero: a handler of "${hook}" failed:`, error)
  }
}

/** For promises that a caller may ignore: a failure still reaches whoever awaits, but is no unhandled rejection. */
function unlessForgotten(promise: Promise<void>): Promise<void> {
  promise.catch(() => {})
  return promise
}
