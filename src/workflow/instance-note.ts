import { isRecord } from '../core/is-record.ts'
import type { EntryBody, LogEntry } from '../core/log.ts'
import type { AgentInstance } from './definition.ts'

const owner = 'workflow:agent'

/** What the log of an agent says about the agent itself; the latest counts. */
export type InstanceNote = Omit<AgentInstance, 'id' | 'modified'>

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
    const note = entry.type === 'state' && entry.owner === owner ? noteIn(entry.value) : undefined
    if (note) instance = { id, modified: entry.at, ...note }
    else if (instance) instance = { ...instance, modified: entry.at }
  }
  return instance
}

/** Without what is known by other ways. */
export function noteOf({ id: _, modified: __, ...note }: AgentInstance): InstanceNote {
  return note
}

function noteIn(value: unknown): InstanceNote | undefined {
  if (!isRecord(value) || typeof value.definitionId !== 'string') return undefined
  return value as unknown as InstanceNote
}
