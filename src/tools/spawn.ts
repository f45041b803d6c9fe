import type { ChildPreset } from '../core/fork.ts'
import type { Session } from '../core/store.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { ToolContext, ToolDef } from '../core/tool.ts'
import type { AgentStats } from '../core/usage.ts'

const description = `Hands a task to a sub-agent that works on its own and reports back once, at the end.
It sees nothing of this conversation: say in the task everything it needs to know.
Several spawns in one message work side by side.`

export interface SpawnOptions {
  /** How many children may work at the same time; more wait. Default 5. */
  readonly maxConcurrent?: number
  readonly model?: string
  readonly thinking?: ThinkingLevel
  /** What children get instead of the parent's own. */
  readonly preset?: ChildPreset
  /** Presets that the model may choose from by name. */
  readonly presets?: Readonly<Record<string, ChildPreset>>
  /** Parent and children may edit what either has read. Default false. */
  readonly shareReadState?: boolean
  /** Levels of spawning; the tool is not offered below. Default 3. */
  readonly maxDepth?: number
}

export interface SpawnInput {
  readonly task: string
  readonly context?: string
  readonly preset?: string
}

/** A tool that runs a child agent with everything its parent has, unless told otherwise. */
export function createSpawnTool(options: SpawnOptions = {}): ToolDef<SpawnInput> {
  const { presets = {}, maxDepth = 3 } = options
  const names = Object.keys(presets)
  const runChild = childRunner(options)
  return {
    spec: { name: 'spawn', description, inputSchema: inputSchema(names) },
    isConcurrencySafe: true,
    replay: 'keyed', // the child is named after the call: the same call finds the same child again
    effects: ['spawn'],
    deriveApprovalKey: ({ preset = 'spawn' }) => preset,
    timeoutMs: 0,
    maxDepth,
    async execute({ task, context, preset }, ctx) {
      if (preset !== undefined && !names.includes(preset))
        throw new Error(`there is no preset "${preset}"; choose ${names.join(', ') || 'none'}`)
      const chosen = preset === undefined ? options.preset : { name: preset, ...presets[preset] }
      return runChild({ task, context, preset: chosen }, ctx)
    },
  }
}

export const spawn: ToolDef = createSpawnTool()

export interface ChildTask {
  readonly task: string
  readonly context: string | undefined
  readonly preset: ChildPreset | undefined
  /** Default: what all children run on, else the parent's. */
  readonly model?: string | undefined
  /** What a child that was begun before had ended with; it is not run again. Default: whether it is done is the run's to find. */
  readonly endedWith?: (session: Session) => Promise<string | undefined>
}

export interface ChildReport {
  readonly output: string
  readonly isError?: boolean
  readonly details: Readonly<Record<string, unknown>>
}

/** Runs children for calls, so many at a time: begins them, or goes on with those that were begun before a crash. */
export function childRunner(
  options: Pick<SpawnOptions, 'maxConcurrent' | 'model' | 'thinking' | 'shareReadState'> = {},
): (work: ChildTask, ctx: ToolContext) => Promise<ChildReport> {
  const { maxConcurrent = 5, thinking, shareReadState = false } = options
  const seat = seats(maxConcurrent)
  return async ({ task, context, preset, model = options.model, endedWith }, ctx) => {
    const leave = await seat(ctx.runId, ctx.signal)
    try {
      const child = await ctx.fork({ task, shareReadState, ...(preset && { preset }) })
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
      const cut = cutBy(stats)
      return {
        output: cut ? `${cut}\n${stats.text}`.trim() : stats.text || '(the sub-agent said nothing)',
        ...(cut && { isError: true }),
        details: { childId: child.id, turns, totalIn, totalOut, cost, elapsed },
      }
    } finally {
      leave()
    }
  }
}

/** What ended a child before it was done. */
function cutBy({ stopReason, turns }: AgentStats): string | undefined {
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

/** Lets so many children of one run work at a time; returns how to leave. Waiting ends when the signal says so. */
function seats(count: number): (runId: string, signal: AbortSignal) => Promise<() => void> {
  const runs = new Map<string, { taken: number; waiting: (() => void)[] }>()
  return async (runId, signal) => {
    const room = runs.get(runId) ?? { taken: 0, waiting: [] }
    runs.set(runId, room)
    signal.throwIfAborted()
    if (room.taken < count) room.taken++
    else await turn(room.waiting, signal)
    return () => {
      const next = room.waiting.shift()
      if (next) return next()
      if (--room.taken === 0) runs.delete(runId)
    }
  }
}

function turn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      signal.removeEventListener('abort', giveUp)
      resolve()
    }
    const giveUp = (): void => {
      waiting.splice(waiting.indexOf(enter), 1)
      reject(signal.reason)
    }
    waiting.push(enter)
    signal.addEventListener('abort', giveUp, { once: true })
  })
}
