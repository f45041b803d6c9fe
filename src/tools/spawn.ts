import type { ChildPreset } from '../core/children.ts'
import type { Session } from '../core/store.ts'
import { oneLine } from '../core/text.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { ToolContext, ToolDef } from '../core/tool.ts'
import type { AgentStats } from '../core/usage.ts'
import { waitForTurn } from './serial-queue.ts'

const description = `Hands a task to a sub-agent that works on its own and reports back once, at the end.
It sees nothing of this conversation: say in the task everything it needs to know.
Several spawns in one message work side by side.`

export interface SpawnOptions {
  /** How many children may work at the same time; more wait. Default 5. */
  readonly maxConcurrent?: number
  readonly model?: string
  readonly thinking?: ThinkingLevel
  /** The settings of children that differ from the parent's. */
  readonly preset?: ChildPreset
  /** Presets that the model may choose from by name. */
  readonly presets?: Readonly<Record<string, SpawnPreset>>
  /** Parent and children may edit what either has read. Default false. */
  readonly shareReadState?: boolean
  /** Levels of spawning; children at the last level are not offered the tool. Default 3. */
  readonly maxDepth?: number
}

/** A kind of sub-agent. */
export interface SpawnPreset extends ChildPreset {
  /** What it is for: the model chooses by it. One line of at most 200 characters is shown. */
  readonly description?: string
  /** Default: `SpawnOptions.model`, else the parent's. */
  readonly model?: string
}

/** A tool that runs a child agent with everything its parent has, unless told otherwise. */
export function createSpawnTool(options: SpawnOptions = {}): ToolDef {
  const { presets = {}, maxDepth = 3 } = options
  const names = Object.keys(presets)
  const runChild = childRunner(options)
  return {
    spec: { name: 'spawn', description: description + kindsOf(presets), inputSchema: inputSchema(names) },
    isConcurrencySafe: true,
    replay: 'keyed', // the child is named after the call, so a repeated call finds the same child
    effects: ['spawn'],
    deriveApprovalKey: ({ preset = 'spawn' }) => preset,
    timeoutMs: 0,
    maxDepth,
    async execute({ task, context, preset }, ctx) {
      if (preset !== undefined && !names.includes(preset))
        throw new Error(`there is no preset "${preset}"; choose ${names.join(', ') || 'none'}`)
      if (preset === undefined) return runChild({ task, context, preset: options.preset }, ctx)
      const { description: _, model, ...chosen } = presets[preset]!
      return runChild({ task, context, preset: { name: preset, ...chosen }, ...(model && { model }) }, ctx)
    },
  }
}

export const spawn: ToolDef = createSpawnTool()

export interface ChildTask {
  readonly task: string
  readonly context: string | undefined
  readonly preset: ChildPreset | undefined
  /** Default: `SpawnOptions.model`, else the parent's. */
  readonly model?: string | undefined
  /** The output of a child that ended before a crash; such a child is not run again. Default: the child's run finds out. */
  readonly endedWith?: (session: Session) => Promise<string | undefined>
}

export interface ChildReport {
  readonly output: string
  readonly isError?: boolean
  readonly details: Readonly<Record<string, unknown>>
}

/** Runs children for calls, up to `maxConcurrent` at a time. Starts a child, or resumes one that was started before a crash. */
export function childRunner(
  options: Pick<SpawnOptions, 'maxConcurrent' | 'model' | 'thinking' | 'shareReadState'> = {},
): (work: ChildTask, ctx: ToolContext) => Promise<ChildReport> {
  const { maxConcurrent = 5, thinking, shareReadState = false } = options
  const acquire = concurrencyLimit(maxConcurrent)
  return async ({ task, context, preset, model = options.model, endedWith }, ctx) => {
    const release = await acquire(ctx.runId, ctx.signal)
    try {
      const child = await ctx.createChild({ task, shareReadState, ...(preset && { preset }) })
      const before = child.hasBegun && child.session ? await endedWith?.(child.session) : undefined
      if (before !== undefined) return { output: before, details: { childId: child.id } }
      const prompt = context ? `${task}\n\n${context}` : task
      const stats = await child.run({
        ...(!child.hasBegun && { prompt }),
        ...(model && { model }),
        ...(thinking && { thinking }),
      })
      if (stats.status === 'suspended') ctx.suspend(stats.stopReason)
      const { turns, totalIn, totalOut, cost, elapsed } = stats
      const limit = reachedLimit(stats)
      return {
        output: limit ? `${limit}\n${stats.text}`.trim() : stats.text || '(the sub-agent said nothing)',
        ...(limit && { isError: true }),
        details: { childId: child.id, turns, totalIn, totalOut, cost, elapsed },
      }
    } finally {
      release()
    }
  }
}

/** The kinds with a description, for the model, as far as they fit. */
function kindsOf(presets: Readonly<Record<string, SpawnPreset>>): string {
  const lines = Object.entries(presets).flatMap(([name, { description: about }]) =>
    about === undefined ? [] : [`- ${name}: ${oneLine(about, 200)}`],
  )
  if (lines.length === 0) return ''
  let room = mostKinds
  const shown = lines.filter((line) => (room -= line.length) >= 0)
  return `\nKinds of sub-agents (preset):\n${shown.join('\n')}`
}

/** The description is sent with every request. */
const mostKinds = 4000

/** The limit that ended a child before it was done. */
function reachedLimit({ stopReason, turns }: AgentStats): string | undefined {
  if (stopReason === 'max_turns') return `The sub-agent reached its limit of ${turns} turns before it was done.`
  return stopReason === 'budget' ? 'The budget was used up before the sub-agent was done.' : undefined
}

function inputSchema(presets: readonly string[]): Record<string, unknown> {
  return {
    type: 'object',
    properties: {
      task: { type: 'string', description: 'What to do, complete in itself.' },
      context: { type: 'string', description: 'Facts the sub-agent needs beside the task.' },
      ...(presets.length > 0 && { preset: { type: 'string', enum: presets, description: 'Which kind of sub-agent.' } }),
    },
    required: ['task'],
  }
}

/** Acquires one of `count` slots of a run; resolves with the function that releases it. Waiting ends when the signal aborts. */
function concurrencyLimit(count: number): (runId: string, signal: AbortSignal) => Promise<() => void> {
  const runs = new Map<string, { taken: number; waiting: (() => void)[] }>()
  return async (runId, signal) => {
    const slots = runs.get(runId) ?? { taken: 0, waiting: [] }
    runs.set(runId, slots)
    signal.throwIfAborted()
    if (slots.taken < count) slots.taken++
    else await waitForTurn(slots.waiting, signal)
    return () => {
      const next = slots.waiting.shift()
      if (next) return next()
      if (--slots.taken === 0) runs.delete(runId)
    }
  }
}
