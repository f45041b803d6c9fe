import { isChildOf } from '../core/children.ts'
import type { EntryOf, LogEntry } from '../core/log.ts'
import type { SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
import type { Transcript } from '../core/transcript.ts'
import { LogViews } from '../plugins/log-views.ts'
import { yieldEntry } from '../plugins/yield-note.ts'
import { agentTags } from '../sessions/agent-states.ts'
import { readCheckpoint, replay } from '../sessions/checkpoints/checkpoint.ts'
import { eachEntryBackwards, readHistory } from '../sessions/history.ts'
import { eachSession, pageWhere } from '../sessions/session-query.ts'
import { agentPrefix, type InstanceNote, noteFromStates, readNote } from './agent-instance.ts'
import type { AgentInstance, AgentSummary } from './definitions/definition.ts'
import type { AgentPage, AgentQuery } from './workflow-contract.ts'

interface OpenAgentsQuery extends Pick<SessionQuery, 'attention' | 'status'> {
  readonly definitionId?: string
}

/** The agents in a store, with sub-agents. */
export class Directory {
  readonly #store: SessionStore

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** One page of agents, by their summaries. Reads no log. */
  async list({ subAgents = false, closed = false, ...query }: AgentQuery = {}): Promise<AgentPage> {
    const { definitionId, name, prefix = '', status, tenant, limit, cursor } = query
    const wanted: SessionQuery = {
      prefix: prefix.startsWith(agentPrefix) ? prefix : agentPrefix + prefix,
      tags: agentTags({ definitionId, name }),
      ...(!subAgents && { parent: null, ...(!closed && { kind: openKind }) }),
      ...(status !== undefined && { status }),
      ...(tenant !== undefined && { tenant }),
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor }),
    }
    const agents = new Map<string, AgentSummary>()
    const { sessions, next } = await pageWhere(this.#store, wanted, async (session) => {
      const agent = await this.#agentOf(session)
      if (!agent || (agent.closed && !closed)) return false
      agents.set(agent.id, agent)
      return true
    })
    return { agents: sessions.map(({ id }) => agents.get(id)!), ...(next !== undefined && { next }) }
  }

  /** All open agents that match, without sub-agents. Reads no log. */
  each({ definitionId, ...query }: OpenAgentsQuery): AsyncGenerator<SessionSummary> {
    const tags = agentTags({ definitionId })
    return eachSession(this.#store, { ...query, kind: openKind, prefix: agentPrefix, tags })
  }

  /** The summary of an agent; reads no log. */
  async find(id: string): Promise<AgentSummary | undefined> {
    const session = id.startsWith(agentPrefix) ? await this.#store.find(id) : undefined
    return session && this.#agentOf(session)
  }

  async #agentOf(session: SessionSummary): Promise<AgentSummary | undefined> {
    const { id, kind, title, tenant, parent, createdAt, updatedAt, status, attention, isHeld } = session
    if (!isAgent(session)) return undefined
    const parentAgentId = parent === undefined ? undefined : id.slice(0, id.indexOf('/'))
    const top = parentAgentId === undefined ? session : await this.#store.find(parentAgentId)
    return {
      ...{ id, definitionId: definitionIn(session), created: createdAt, modified: updatedAt, status },
      ...{ isSubAgent: kind === 'sub-agent', closed: top?.kind === closedKind },
      ...(title !== undefined && { title }),
      ...(tenant !== undefined && { tenant }),
      ...(parentAgentId !== undefined && { parentAgentId }),
      ...(attention && { attention }),
      ...(isHeld && { isHeld }),
    }
  }

  async get(id: string): Promise<AgentInstance | undefined> {
    const session = id.startsWith(agentPrefix) ? await this.#store.find(id) : undefined
    const note = session && isAgent(session) ? await this.#lastNote(id) : undefined
    return note && { ...note, id, modified: session!.updatedAt, closed: session!.kind === closedKind }
  }

  /** The latest record of an agent. A checkpoint has it too, so that a long log is not read to its beginning. */
  async #lastNote(id: string): Promise<InstanceNote | undefined> {
    for await (const entry of eachEntryBackwards(this.#store, id)) {
      const note = readNote(entry) ?? noteFromStates(new Map(readCheckpoint(entry)?.state.states))
      if (note) return note
    }
    return undefined
  }

  entries(id: string, after = 0): Promise<readonly LogEntry[]> {
    return this.#store.read(id, { after })
  }

  /** The conversation of an agent as its log has it now, and when it was last written. */
  async transcript(id: string): Promise<{ readonly transcript: Transcript; readonly updatedAt: number } | undefined> {
    const session = await this.#store.find(id)
    return session && { transcript: replay(await readHistory(this.#store, session)), updatedAt: session.updatedAt }
  }

  async lastResultOf(id: string, callId: string): Promise<EntryOf<'call_result'> | undefined> {
    for await (const entry of eachEntryBackwards(this.#store, id))
      if (entry.type === 'call_result' && entry.callId === callId) return entry
    return undefined
  }
}

const openKind = 'agent'
const closedKind = 'closed agent'

/** By its summary, which the store makes from the note that an agent has in its log. */
const isAgent = ({ kind = '' }: SessionSummary): boolean => [openKind, closedKind, 'sub-agent'].includes(kind)

function definitionIn({ tags }: SessionSummary): string {
  const [prefix = ''] = agentTags({ definitionId: '' })
  return tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? ''
}

/** The state of a sub-agent, by its log and by the outcome of the call that started it. */
export async function readSubAgent(
  directory: Directory,
  agentId: string,
  resultDuration: number | null,
): Promise<LogViews> {
  const views = new LogViews(agentId, resultDuration)
  const entries = await directory.entries(agentId)
  for (const entry of entries) views.apply(entry)
  const { state } = views.messages.status
  const mayContinue = state === 'input-required' || state === 'working' || state === 'submitted'
  const at = mayContinue ? await abandonedAt(directory, entries, resultDuration) : undefined
  // This is not in its log: cancelling an agent would have to write the logs of all its sub-agents.
  if (at !== undefined) views.apply({ ...yieldEntry('canceled'), seq: views.head + 1, id: `${agentId}.left`, at })
  return views
}

/** When its parent was cancelled, closed or continued without the call, so that the sub-agent does not continue. */
async function abandonedAt(
  directory: Directory,
  entries: readonly LogEntry[],
  resultDuration: number | null,
): Promise<number | undefined> {
  const parent = entries.findLast((entry) => entry.type === 'run_started')?.parent
  if (parent?.session === undefined) return undefined
  const { session, callId } = parent
  const above = await directory.transcript(session)
  if (!above) return undefined
  if (!above.transcript.openCalls.some(({ id }) => isChildOf(callId, id))) {
    const result = await directory.lastResultOf(session, callId)
    return result?.outcome === 'done' ? undefined : (result?.at ?? above.updatedAt)
  }
  const instance = await directory.get(session)
  if (!instance) return undefined
  // A parent may itself be a sub-agent.
  const { status } = (await readSubAgent(directory, session, resultDuration)).messages
  return instance.closed || status.state === 'canceled' ? status.modified : undefined
}
