import { isChildOf } from '../core/fork.ts'
import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { Transcript } from '../core/transcript.ts'
import { LogViews } from '../plugins/log-views.ts'
import { yieldEntry } from '../plugins/yield-note.ts'
import { allSessions } from '../sessions/session-query.ts'
import { agentPrefix, readInstance } from './agent-instance.ts'
import type { AgentInstance } from './definitions/definition.ts'

/** The agents in a store, with sub-agents. Reads each entry of a log once. */
export class Directory {
  readonly #store: SessionStore
  readonly #known = new Map<string, { readonly head: number; readonly instance: AgentInstance | undefined }>()

  constructor(store: SessionStore) {
    this.#store = store
  }

  async list(): Promise<readonly AgentInstance[]> {
    const found: AgentInstance[] = []
    for (const { id, head } of await allSessions(this.#store)) {
      if (!id.startsWith(agentPrefix)) continue
      const instance = await this.#read(id, head)
      if (instance) found.push(instance)
    }
    return found.sort((a, b) => a.created - b.created)
  }

  async get(id: string): Promise<AgentInstance | undefined> {
    if (!id.startsWith(agentPrefix)) return undefined
    return this.#read(id, Number.POSITIVE_INFINITY)
  }

  entries(id: string, after = 0): Promise<readonly LogEntry[]> {
    return this.#store.read(id, { after })
  }

  async #read(id: string, head: number): Promise<AgentInstance | undefined> {
    const known = this.#known.get(id)
    if (known && known.head >= head) return known.instance
    const entries = await this.#store.read(id, { after: Math.max(0, (known?.head ?? 0) - 1) })
    const last = entries.at(-1)
    if (!last) {
      this.forget(id) // another process has deleted it
      return undefined
    }
    const added = entries.filter(({ seq }) => seq > (known?.head ?? 0))
    const instance = readInstance(id, added, known?.instance)
    this.#known.set(id, { head: last.seq, instance })
    return instance
  }

  forget(id: string): void {
    this.#known.delete(id)
  }
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
  const parentEntries = await directory.entries(session)
  const last = parentEntries.at(-1)
  if (!last) return undefined
  const transcript = new Transcript()
  for (const entry of parentEntries) transcript.apply(entry)
  const result = parentEntries.findLast((entry) => entry.type === 'call_result' && entry.callId === callId)
  if (!transcript.openCalls.some(({ id }) => isChildOf(callId, id))) {
    if (result?.type === 'call_result' && result.outcome === 'done') return undefined
    return (result ?? last).at
  }
  const instance = await directory.get(session)
  if (!instance) return undefined
  // A parent may itself be a sub-agent.
  const { status } = (await readSubAgent(directory, session, resultDuration)).messages
  return instance.closed || status.state === 'canceled' ? status.modified : undefined
}
