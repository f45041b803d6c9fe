import type { EntryBody } from '../../core/log.ts'
import type { Meta } from '../../core/meta.ts'
import type { PromptPart, SessionTurn } from '../../core/turn.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

/** What is said to an agent, under a key of its own; nothing where it goes on by itself. */
export interface Said {
  readonly prompt?: readonly PromptPart[]
  readonly clientKey?: string
  /** Who said it, a trace, a reply address. */
  readonly meta?: Meta
}

/** The same as it is written into the log, outside of a run. */
export function saidEntry(
  content: SessionTurn['content'],
  { clock, newId }: Pick<WorkflowDependencies, 'clock' | 'newId'>,
  { clientKey, meta }: Omit<Said, 'prompt'> = {},
): Extract<EntryBody, { type: 'turn' }> {
  const sender = meta && { meta }
  const turn: SessionTurn = { id: newId(), runId: '', role: 'user', content, createdAt: clock.now(), ...sender }
  return { type: 'turn', turn, ...(clientKey !== undefined && { clientKey }) }
}
