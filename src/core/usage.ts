import type { EntryOf, Log, RunStatus } from './log.ts'
import type { Run, RunProgress } from './run.ts'
import { type TurnUsage, textOf } from './turn.ts'

/** What a run did and cost. Totals include all descendants; `turns` and `turnUsage` do not. */
export interface AgentStats<Output = unknown> {
  readonly runId: string
  readonly status: RunStatus
  /** The last text of the model in this run; empty if there is none. */
  readonly text: string
  readonly stopReason: string
  readonly totalIn: number
  readonly totalOut: number
  /** Dollars; absent if no call had a known price. */
  readonly cost?: number
  readonly turns: number
  readonly turnUsage: readonly TurnUsage[]
  /** In the order in which they finished. */
  readonly children: readonly ChildRunStats[]
  readonly timeTillFirstTokenMs?: number
  readonly elapsed: number
  /** The structured answer, if `behavior.schema` is set. */
  readonly output?: Output
  /** Accepted messages that this run did not deliver; they wait for the next run. Absent if there are none. */
  readonly undelivered?: readonly UndeliveredMessage[]
}

/** An accepted message that is not in any turn. */
export type UndeliveredMessage = Pick<EntryOf<'input'>, 'clientKey' | 'mode' | 'content' | 'meta'>

export const undeliveredOf = ({ transcript }: Log): readonly UndeliveredMessage[] =>
  transcript.inbox.map(({ clientKey, mode, content, meta }) => ({ clientKey, mode, content, ...(meta && { meta }) }))

export interface ChildRunStats extends AgentStats {
  readonly childId: string
  readonly depth: number
  readonly task?: string
}

/** The stats of a run so far, its children included. */
export function statsOf(run: Run, status: RunStatus, stopReason: string, startedAt: number): AgentStats {
  const { clock, log, result } = run
  const { turnNumber, usage, turnUsage, firstTokenAt } = run.progress
  const children = run.children.stats
  const costs = [usage, ...children].flatMap(({ cost }) => (cost === undefined ? [] : [cost]))
  // A run that found nothing to do reports the last answer of the session.
  const isRepeating = status === 'completed' && turnNumber === 0
  const last = log.transcript.findLastTurn(
    ({ role, runId }) => role === 'assistant' && (isRepeating || runId === run.id),
  )
  return {
    runId: run.id,
    status,
    text: result.text || (last ? textOf(last) : ''),
    stopReason,
    totalIn: children.reduce((sum, child) => sum + child.totalIn, usage.input),
    totalOut: children.reduce((sum, child) => sum + child.totalOut, usage.output),
    ...(costs.length > 0 && { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
    turns: turnNumber,
    turnUsage,
    children,
    ...(firstTokenAt !== undefined && { timeTillFirstTokenMs: firstTokenAt - startedAt }),
    elapsed: clock.now() - startedAt,
    ...(result.output !== undefined && { output: result.output }),
    ...(log.transcript.inbox.length > 0 && { undelivered: undeliveredOf(log) }),
  }
}

/** Every model call in the tree, depth first, parents before their children. */
export function flattenTurns(stats: AgentStats): TurnUsage[] {
  return [...stats.turnUsage, ...stats.children.flatMap(flattenTurns)]
}

/** The whole tree's usage, by model. `cost` is in dollars, and absent if no call to a model had a known price. */
export function statsByModel(
  stats: AgentStats,
): Map<
  string,
  { input: number; output: number; cost?: number; cacheRead: number; cacheCreation: number; turns: number }
> {
  const byModel: ReturnType<typeof statsByModel> = new Map()
  for (const usage of flattenTurns(stats)) {
    const model = usage.model ?? 'unknown'
    const totals = byModel.get(model) ?? { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, turns: 0 }
    totals.input += usage.input
    totals.output += usage.output
    if (usage.cost !== undefined) totals.cost = (totals.cost ?? 0) + usage.cost
    totals.cacheRead += usage.cacheRead ?? 0
    totals.cacheCreation += usage.cacheCreation ?? 0
    totals.turns++
    byModel.set(model, totals)
  }
  return byModel
}

export const noUsage: TurnUsage = Object.freeze({ input: 0, output: 0 })

export function addUsage(a: TurnUsage, b: TurnUsage): TurnUsage {
  const sum: Writable = { input: a.input + b.input, output: a.output + b.output }
  for (const key of optionalCounts)
    if (a[key] !== undefined || b[key] !== undefined) sum[key] = (a[key] ?? 0) + (b[key] ?? 0)
  return sum
}

type Writable = { -readonly [Key in keyof TurnUsage]: TurnUsage[Key] }
const optionalCounts = ['reasoning', 'cacheRead', 'cacheCreation', 'cost'] as const

/** Usage as reported by a service, without fields that are not counts: a total must never become NaN. */
export function normalizeUsage(
  reported: Partial<Record<keyof TurnUsage, unknown>> | undefined,
  model: string,
): TurnUsage {
  const usage: Writable = { input: count(reported?.input) ?? 0, output: count(reported?.output) ?? 0, model }
  for (const key of optionalCounts) {
    const value = count(reported?.[key])
    if (value !== undefined) usage[key] = value
  }
  return usage
}

/** The usage that a service reports when it accepts a request, unless it is empty: some services count the prompt later. */
export function promptUsageOf(reported: TurnUsage | undefined, model: string): TurnUsage | undefined {
  if (!reported) return undefined
  const usage = normalizeUsage(reported, model)
  return usage.input + (usage.cacheRead ?? 0) + (usage.cacheCreation ?? 0) > 0 ? usage : undefined
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

/** Adds the usage of one model call to the totals of a run. */
export function countUsage(progress: RunProgress, usage: TurnUsage): void {
  progress.usage = addUsage(progress.usage, usage)
  progress.turnUsage.push(usage)
}

/** Counts and logs the usage of a model call without a turn. It is counted first: a failing log does not undo the cost. */
export async function recordUsage(run: Run, turnId: string, cause: string, usage: TurnUsage): Promise<void> {
  const { progress } = run
  countUsage(progress, usage)
  await run.log.append({ type: 'usage', runId: run.id, cause, usage })
  await run.hooks.tell('usage', { turnId, turn: progress.turnNumber, usage, totals: progress.usage })
}

/** The index range `[from, to)` of a run's turns. It begins with an earlier turn if the run answers the calls of that turn. */
export type TurnRange = readonly [from: number, to: number]
