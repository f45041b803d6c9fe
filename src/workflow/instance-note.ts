import { isRecord } from '../core/is-record.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import type { AgentInstance } from './definitions/definition.ts'

const owner = 'workflow:agent'

/** What the log of an agent says about the agent itself; the latest counts. */
export type InstanceNote = Omit<AgentInstance, 'id' | 'modified'>

/** As it is written into the log. */
export function instanceEntry(note: InstanceNote): EntryBody {
  return { type: 'state', owner, value: note }
}

/** An agent as far as its log has been read; `undefined` where it is none. */
export function readInstance(
  id: string,
  entries: readonly LogEntry[],
  before?: AgentInstance,
): AgentInstance | undefined {
  let instance = before
  for (const entry of entries) {
    const note = noteIn(entry)
    if (note) instance = { id, modified: entry.at, ...note }
    else if (instance) instance = { ...instance, modified: entry.at }
  }
  return instance
}

/** What an entry says about the agent, if it does. */
export function noteIn(entry: LogEntry): InstanceNote | undefined {
  return entry.type === 'state' && entry.owner === owner && isNote(entry.value) ? entry.value : undefined
}

/** The latest, among what owners wrote last. */
export function noteAmong(states: ReadonlyMap<string, unknown>): InstanceNote | undefined {
  const value = states.get(owner)
  return isNote(value) ? value : undefined
}

/** Why a closed one is not spoken to. */
export const closedWords = (agentId: string): string => `agent "${agentId}" is closed; create another one`

/** Why one is not that is gone. */
export const unknownWords = (agentId: string): string =>
  `there is no agent "${agentId}"; listAgents() names those there are`

/** Why an id cannot be had. */
export const takenWords = (agentId: string): string =>
  `there is an agent "${agentId}" already, open or closed; speak to that one, or choose another id`

/** Without what is known by other ways. */
export function noteOf({ id: _, modified: __, ...note }: AgentInstance): InstanceNote {
  return note
}

/** It is ours by its owner; whether it is whole is told by what every one has. */
function isNote(value: unknown): value is InstanceNote {
  return isRecord(value) && typeof value.definitionId === 'string'
}
