import { type Clock, systemClock } from '../core/clock.ts'
import type { LogEntry } from '../core/log.ts'
import type { Extension, Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { Execution, type ExecutionOptions } from './execution.ts'
import { schemaTool } from './llm-tool-schemas.ts'
import { LogViews } from './log-views.ts'
import { yieldEntry } from './yield-note.ts'

export interface PluginExtensionOptions extends ExecutionOptions {
  /**
   * The views of the agent's log, which the caller keeps up to date. Absent for sub-agents: there are several of one
   * definition, each with its own log, whose id is the agent's id.
   */
  readonly views?: LogViews
  /** With how many model calls a result is sent that does not say so itself; `null` means all. Default 1. */
  readonly resultDuration: number | null
  /** How long the calls of one answer may work together. Default 120,000; 0 means no limit. */
  readonly batchTimeoutMs?: number
}

/** The plugins of one agent: their tools, and the extension that calls their hooks. */
export function pluginExtension(options: PluginExtensionOptions): { extension: Extension; tools: readonly ToolDef[] } {
  const { plugins, batchTimeoutMs = batchLimitMs } = options
  const executions = new Map<string, Execution>()
  const current = (runId?: string): Execution | undefined =>
    runId === undefined ? [...executions.values()].at(-1) : executions.get(runId)
  const schemaTools = plugins.flatMap((one) =>
    Object.keys(one.plugin.llmToolSchemas ?? {}).map((name) => schemaTool(name, one, current)),
  )
  const batch = new BatchClock(plugins[0]?.setup.services.clock ?? systemClock)
  const isLimited = ({ timeoutMs }: ToolDef): boolean => timeoutMs !== 0 && batchTimeoutMs > 0
  const tools = [...plugins.flatMap((one) => one.tools), ...schemaTools]
  const viewsOf = viewsByLog(options)

  return {
    tools: tools.map((tool) => inOrder(isLimited(tool) ? batch.limit(tool, batchTimeoutMs) : tool, current)),
    extension: {
      name: 'plugins',
      async start(run, hooks) {
        const views = await viewsOf(run)
        if (run.progress.isOver) return // its hooks would never be removed
        const agent = options.views ? options.agent : { ...options.agent, id: run.log.id }
        const execution = new Execution(run, views, { ...options, agent })
        executions.set(run.id, execution)
        run.provider = execution.requirePrompt(run.provider)
        hooks.hook('session:turns', ({ turns }) => execution.onTurns(turns))
        hooks.hook('request:prepare', async (ctx) => {
          ctx.messages = await execution.prompt(ctx.messages)
        })
        hooks.hook('system:transform', (ctx) => {
          ctx.system = execution.system(ctx.system)
        })
        if (execution.hasUpdateHandlers) hooks.hook('stream:text', (ctx) => execution.update(ctx))
        hooks.hook('turn:after', (ctx) => execution.complete(ctx))
        hooks.hook('tool:after', (ctx) => execution.onToolResult(ctx))
        hooks.hook('tool-results:after', (ctx) => execution.onResults(ctx))
        hooks.hook('turn:next', async (ctx) => {
          const { to, say } = execution.next()
          if (to === 'human') await run.log.append(yieldEntry(to))
          if (to === 'human' || to === 'end') ctx.stop = true
          if (to !== 'self' && say === undefined) return
          ctx.stop = false
          // After its answer, a model needs a user message to continue.
          if (say !== undefined || run.log.transcript.isAnswered) ctx.add.push(say ?? continueMessage)
        })
        hooks.hook('session:end', async () => {
          await execution.end()
          executions.delete(run.id)
        })
      },
    },
  }
}

/** With calls in text, a tool runs in parallel only if the model asked for that. */
function inOrder(tool: ToolDef, current: () => Execution | undefined): ToolDef {
  const { isConcurrencySafe: isSafe = false } = tool
  if (isSafe === false) return tool
  return {
    ...tool,
    isConcurrencySafe: (input) =>
      current()?.isInOrder !== true && (typeof isSafe === 'function' ? isSafe(input) : isSafe),
  }
}

/** The message for another round that a plugin asked for without a message. */
const continueMessage = 'Go on.'

/** Creates the views of each log once, from its first entry on. */
function viewsByLog({ views, resultDuration }: PluginExtensionOptions): (run: Run) => Promise<LogViews> {
  const known = new Map<string, LogViews>()
  return async ({ log, session }) => {
    if (views) return views
    const before = known.get(log.id)
    if (before) return before
    const made = new LogViews(log.id, resultDuration)
    known.set(log.id, made)
    const meanwhile: LogEntry[] = []
    let receive = (entry: LogEntry): unknown => meanwhile.push(entry)
    log.subscribe((entry) => receive(entry))
    if (session) for await (const entry of session.entries()) made.apply(entry)
    for (const entry of meanwhile) made.apply(entry)
    receive = (entry) => made.apply(entry)
    return made
  }
}

/** For all calls of one answer together; time spent waiting for people does not count. */
const batchLimitMs = 120_000

/** Measures how long the calls of one answer have run, in parallel or one after the other. */
class BatchClock {
  readonly #clock: Clock
  #turnId = ''
  #spentMs = 0
  #working = 0
  #since = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same tool; a call ends when the time of its answer is used up. Earlier results stay. */
  limit<Input>(tool: ToolDef<Input>, limitMs: number): ToolDef<Input> {
    return {
      ...tool,
      execute: async (input, ctx) => {
        const leftMs = limitMs - this.#begin(ctx.turnId)
        const over = new AbortController()
        let cancelTimer = (): void => {}
        const late = new Promise<never>((_, reject) => {
          cancelTimer = this.#clock.timer(Math.max(0, leftMs), () => {
            const error = new Error(
              `timed out: the calls of one answer may work ${limitMs / 1000} s together, and this one was not done; ask for fewer at a time`,
            )
            reject(error) // first, as a tool may return as soon as the signal aborts
            over.abort(error)
          })
        })
        late.catch(() => {})
        try {
          return await Promise.race([tool.execute(input, withSignal(ctx, over.signal)), late])
        } finally {
          cancelTimer()
          this.#end()
        }
      },
    }
  }

  #begin(turnId: string): number {
    const now = this.#clock.now()
    if (turnId !== this.#turnId && this.#working === 0) {
      this.#turnId = turnId
      this.#spentMs = 0
    }
    const spent = this.#spentMs + (this.#working > 0 ? now - this.#since : 0)
    if (this.#working++ === 0) this.#since = now
    return spent
  }

  #end(): void {
    if (--this.#working === 0) this.#spentMs += this.#clock.now() - this.#since
  }
}

/**
 * A proxy, because a context has getters and private fields. The combined signal is created only for a tool that reads
 * it.
 */
function withSignal<Context extends { readonly signal: AbortSignal }>(ctx: Context, over: AbortSignal): Context {
  let signal: AbortSignal | undefined
  return new Proxy(ctx, {
    get(target, name) {
      if (name !== 'signal') return Reflect.get(target, name, target)
      signal ??= AbortSignal.any([target.signal, over])
      return signal
    },
  })
}
