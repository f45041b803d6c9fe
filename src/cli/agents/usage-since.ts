import type { LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import type { TurnUsage } from '../../core/turn.ts'
import { type AgentStats, addUsage, noUsage } from '../../core/usage.ts'
import { eachEntryBackwards } from '../../sessions/history.ts'
import { allSessions } from '../../sessions/session-query.ts'

/** A span of work: its start and its duration. */
export interface WorkSpan {
  readonly since: number
  readonly elapsed: number
}

/** The usage of an agent and its sub-agents since a time, from their logs. */
export async function usageSince(
  store: SessionStore,
  agentId: string,
  { since, elapsed }: WorkSpan,
): Promise<AgentStats> {
  const read = async (id: string): Promise<TurnUsage[]> => {
    const used: TurnUsage[] = []
    for await (const entry of eachEntryBackwards(store, id)) {
      if (entry.at < since) break
      used.unshift(...usageIn(entry))
    }
    return used
  }
  const children = await allSessions(store, { prefix: `${agentId}/` })
  const turnUsage = await read(agentId)
  const below = await Promise.all(children.map(({ id }) => read(id)))
  const { input, output, cost } = [...turnUsage, ...below.flat()].reduce(addUsage, noUsage)
  return {
    ...{ runId: '', status: 'completed', stopReason: 'end', text: '', children: [] },
    ...{ totalIn: input, totalOut: output, turns: turnUsage.length, turnUsage, elapsed },
    ...(cost !== undefined && { cost }),
  }
}

function usageIn(entry: LogEntry): TurnUsage[] {
  if (entry.type === 'usage') return [entry.usage]
  return entry.type === 'turn' && entry.turn.role === 'assistant' ? [entry.turn.usage ?? noUsage] : []
}
