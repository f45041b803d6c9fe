import type { Run } from './run.ts'
import { textOf } from './turn.ts'
import type { AgentStats } from './usage.ts'

/** What a run did so far, its children included. */
export function statsOf(run: Run, stopReason: string, startedAt: number): AgentStats {
  const { children, usage, clock, firstTokenAt, log } = run
  const costs = [usage, ...children].flatMap(({ cost }) => (cost === undefined ? [] : [cost]))
  const last = log.transcript.turns.findLast((turn) => turn.role === 'assistant')
  return {
    runId: run.id,
    text: last ? textOf(last) : '',
    stopReason,
    totalIn: children.reduce((sum, child) => sum + child.totalIn, usage.input),
    totalOut: children.reduce((sum, child) => sum + child.totalOut, usage.output),
    ...(costs.length > 0 && { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
    turns: run.turn,
    turnUsage: run.turnUsage,
    children,
    ...(firstTokenAt !== undefined && { timeTillFirstTokenMs: firstTokenAt - startedAt }),
    elapsed: clock.now() - startedAt,
    ...(run.output !== undefined && { output: run.output }),
  }
}
