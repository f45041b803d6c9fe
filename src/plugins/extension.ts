import { systemClock } from '../core/clock.ts'
import type { LogEntry } from '../core/log.ts'
import type { Extension, Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { BatchClock, batchLimitMs } from './batch-clock.ts'
import { Execution, type ExecutionOptions } from './execution.ts'
import { schemaTool } from './llm-tool-schemas.ts'
import { LogViews } from './log-views.ts'
import { yieldEntry } from './yield-note.ts'

export interface PluginExtensionOptions extends ExecutionOptions {
  /**
   * What is known of the agent's log already, kept up to date by whoever gives it. Absent for sub-agents: there are
   * several of one kind, each with a log of its own, and the id of the log is theirs in place of that of `agent`.
   */
  readonly views?: LogViews
  /** How long results are sent that say nothing of it themselves; `null` means for ever. Default 1. */
  readonly resultDuration: number | null
  /** How long the calls of one answer may work together. Default 120,000; 0 means no limit. */
  readonly batchTimeoutMs?: number
}

/** The plugins of one agent: their tools, and their place in each of its runs. */
export function pluginExtension(options: PluginExtensionOptions): { extension: Extension; tools: readonly ToolDef[] } {
  const { plugins, batchTimeoutMs = batchLimitMs } = options
  const executions = new Map<string, Execution>()
  const current = (runId?: string): Execution | undefined =>
    runId === undefined ? [...executions.values()].at(-1) : executions.get(runId)
  const older = plugins.flatMap((one) =>
    Object.keys(one.plugin.llmToolSchemas ?? {}).map((name) => schemaTool(name, one, current)),
  )
  const batch = new BatchClock(plugins[0]?.setup.services.clock ?? systemClock)
  const isLimited = ({ timeoutMs }: ToolDef): boolean => timeoutMs !== 0 && batchTimeoutMs > 0
  const tools = [...plugins.flatMap((one) => one.tools), ...older]
  const viewsOf = rememberedViews(options)

  return {
    tools: tools.map((tool) => inOrder(isLimited(tool) ? batch.limit(tool, batchTimeoutMs) : tool, current)),
    extension: {
      name: 'plugins',
      async start(run, hooks) {
        const views = await viewsOf(run)
        if (run.progress.isOver) return // nobody would take its hooks back
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
          // A model that had the last word waits for somebody to speak.
          if (say !== undefined || run.log.transcript.isAnswered) ctx.add.push(say ?? goOn)
        })
        hooks.hook('session:end', async () => {
          await execution.end()
          executions.delete(run.id)
        })
      },
    },
  }
}

/** What may run beside others does so only where the model asked for that; natively it always does. */
function inOrder(tool: ToolDef, current: () => Execution | undefined): ToolDef {
  const { isConcurrencySafe: isSafe = false } = tool
  if (isSafe === false) return tool
  return {
    ...tool,
    isConcurrencySafe: (input) =>
      current()?.isInOrder !== true && (typeof isSafe === 'function' ? isSafe(input) : isSafe),
  }
}

/** What the model is told where a plugin wants another round and has nothing to say. */
const goOn = 'Go on.'

/** What is known of each log, from its first entry on; an agent and its children have one each. */
function rememberedViews({ views, resultDuration }: PluginExtensionOptions): (run: Run) => Promise<LogViews> {
  const known = new Map<string, LogViews>()
  return async ({ log, session }) => {
    if (views) return views
    const before = known.get(log.id)
    if (before) return before
    const made = new LogViews(log.id, resultDuration)
    known.set(log.id, made)
    const meanwhile: LogEntry[] = []
    let hear = (entry: LogEntry): unknown => meanwhile.push(entry)
    log.subscribe((entry) => hear(entry))
    const [own = []] = session ? await session.tree() : []
    for (const entry of [...own, ...meanwhile]) made.apply(entry)
    hear = (entry) => made.apply(entry)
    return made
  }
}
