import type { EntryBody } from '../../core/log.ts'
import type { PromptPart, SessionTurn } from '../../core/turn.ts'
import type { AgentMakings } from './agent-makings.ts'

/** What is said to an agent, under a key of its own; nothing where it goes on by itself. */
export interface Said {
  readonly prompt?: readonly PromptPart[]
  readonly clientKey?: string
}

/** The same as it is written into the log, outside of a run. */
export function saidEntry(
  content: SessionTurn['content'],
  { clock, newId }: Pick<AgentMakings, 'clock' | 'newId'>,
  clientKey?: string,
): Extract<EntryBody, { type: 'turn' }> {
  const turn: SessionTurn = { id: newId(), runId: '', role: 'user', content, createdAt: clock.now() }
  return { type: 'turn', turn, ...(clientKey !== undefined && { clientKey }) }
}
