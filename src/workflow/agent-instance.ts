import { show } from '../core/behavior.ts'
import { isRecord } from '../core/is-record.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import { checkInstanceConfig } from './definitions/check-definition.ts'
import type { AgentInstance } from './definitions/definition.ts'
import type { NewAgent, WorkflowDependencies } from './workflow-contract.ts'

/** The ids of agents' sessions begin with this; those of other sessions do not. */
export const agentPrefix = 'agent-'

/** The lease of an agent's session: any process can take over from a dead one after so long. */
export const agentLease = { owner: 'workflow', leaseMs: 8000 } as const

const owner = 'workflow:agent'

/** The record of an agent in its log; the latest counts. */
export type InstanceNote = Omit<AgentInstance, 'id' | 'modified'>

export function instanceEntry(note: InstanceNote): EntryBody {
  return { type: 'state', owner, value: note }
}

export function readNote(entry: LogEntry): InstanceNote | undefined {
  return entry.type === 'state' && entry.owner === owner && isNote(entry.value) ? entry.value : undefined
}

/** The latest record, from the states of a transcript. */
export function noteFromStates(states: ReadonlyMap<string, unknown>): InstanceNote | undefined {
  const value = states.get(owner)
  return isNote(value) ? value : undefined
}

export const closedMessage = (agentId: string): string => `agent "${agentId}" is closed; create another one`

export const unknownAgentMessage = (agentId: string): string =>
  `there is no agent "${agentId}"; listAgents() names those there are`

export const subAgentMessage = (agentId: string, parentAgentId: string | undefined): string =>
  `"${agentId}" is a sub-agent of "${parentAgentId}"; speak to that one`

export const takenIdMessage = (agentId: string): string =>
  `there is an agent "${agentId}" already, open or closed; send to that one, or choose another id`

export function noteOf({ id: _, modified: __, ...note }: AgentInstance): InstanceNote {
  return note
}

function isNote(value: unknown): value is InstanceNote {
  return isRecord(value) && typeof value.definitionId === 'string'
}

/** A new agent. Throws on an invalid id or configuration. */
export function newInstance(
  definitionId: string,
  given: NewAgent,
  { clock, newId, definition }: Pick<WorkflowDependencies, 'clock' | 'newId' | 'definition'>,
): AgentInstance {
  const { id = `${agentPrefix}${newId()}`, name, handlerId, config, volatile } = given
  if (typeof id !== 'string' || !/^agent-[\w.-]{1,100}$/.test(id))
    throw new TypeError(
      `an agent's id must be "agent-" and up to 100 letters, digits, "-", "_" or ".", got ${show(id)}`,
    )
  if (config !== undefined) checkInstanceConfig(config, definition(definitionId))
  const now = clock.now()
  return {
    ...{ id, definitionId, created: now, modified: now, isSubAgent: false, closed: false },
    ...(name !== undefined && { name }),
    ...(handlerId !== undefined && { handlerId }),
    ...(config !== undefined && { config }),
    ...(volatile && { volatile }),
  }
}
