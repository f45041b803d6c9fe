import type { Log } from '../core/log.ts'
import type { MessageProjection } from './message-projection.ts'
import type { AgentFrameworkContext } from './plugin-hooks.ts'

/** Who an agent is, for plugins and handlers. */
export type AgentName = Pick<AgentFrameworkContext['agent'], 'id' | 'definitionId' | 'name'>

/** An agent as plugins and handlers see it: always as it stands when they look. */
export function agentView(
  { id, definitionId, name }: AgentName,
  projection: MessageProjection,
  log: Pick<Log, 'transcript'>,
): AgentFrameworkContext['agent'] {
  return {
    id,
    definitionId,
    ...(name !== undefined && { name }),
    get messages() {
      return projection.messages
    },
    get status() {
      return projection.status
    },
    get states() {
      return log.transcript.states
    },
  }
}
