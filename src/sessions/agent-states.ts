import type { SessionDetails, SessionStatus, SessionSummary } from '../core/store.ts'
import { readableDetails } from './summary-texts.ts'

/** What is used of the state `workflow:agent`, which a workflow keeps in the log of an agent. */
interface AgentNote extends AgentNames {
  readonly isSubAgent?: boolean
  readonly closed?: boolean
}

interface AgentNames {
  readonly definitionId?: string | undefined
  readonly name?: string | undefined
}

/** The details of an agent's session, by that state. */
export function agentDetails(note: unknown, { title, tags = [] }: SessionDetails): SessionDetails {
  const { definitionId, name, isSubAgent, closed } = note as AgentNote
  const kind = closed ? 'closed agent' : 'agent'
  const others = tags.filter((tag) => !tag.startsWith('name:')) // the agent may have been renamed
  return readableDetails({
    kind: isSubAgent ? 'sub-agent' : kind,
    tags: [...others, ...agentTags({ definitionId, name })],
    ...(!title && name !== undefined && { title: name }),
  })
}

/** The tags by which the agents of a definition, or of a name, are found. */
export function agentTags({ definitionId, name }: AgentNames): readonly string[] {
  return [
    ...(definitionId === undefined ? [] : [`definition:${definitionId}`]),
    ...(name === undefined ? [] : [`name:${name}`]),
  ]
}

/** The status of an agent by the state `workflow:yield`, which says where it differs from that of its last run. */
export function statusOfYield(value: unknown): SessionStatus | undefined {
  const state = typeof value === 'string' ? value : (value as { readonly state?: unknown } | null)?.state
  return typeof state === 'string' && Object.hasOwn(statuses, state) ? statuses[state] : undefined
}

const statuses: Readonly<Record<string, SessionStatus>> = {
  interrupted: 'interrupted',
  submitted: 'interrupted',
  failed: 'failed',
  canceled: 'idle',
  completed: 'idle',
}

/** Whether a session is kept until it is deleted by name: an open agent, a webhook, and the log of the schedules. */
export function isPersistent({ id, kind }: Pick<SessionSummary, 'id' | 'kind'>): boolean {
  return ['agent', 'schedules', 'webhook'].includes(kind ?? '') || id === 'libero.schedules' // old logs of schedules have no kind
}
