import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { withSpill } from '../sessions/spill.ts'
import type { AgentInstance } from './definitions/definition.ts'
import { readInstance } from './instance-note.ts'

/** Sessions of agents are told from others by their ids. */
export const agentPrefix = 'agent-'

/** The agents in a store, sub-agents too. What was read of a log once is not read again. */
export class Directory {
  readonly #store: SessionStore
  readonly #known = new Map<string, { readonly head: number; readonly instance: AgentInstance | undefined }>()

  constructor(store: SessionStore) {
    this.#store = withSpill(store)
  }

  async list(): Promise<readonly AgentInstance[]> {
    const found: AgentInstance[] = []
    for (const { id, head } of await this.#store.list()) {
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

  /** All that the log of an agent says, from the beginning. */
  entries(id: string, after = 0): Promise<readonly LogEntry[]> {
    return this.#store.read(id, after)
  }

  async #read(id: string, head: number): Promise<AgentInstance | undefined> {
    const known = this.#known.get(id)
    if (known && known.head >= head) return known.instance
    const entries = await this.#store.read(id, Math.max(0, (known?.head ?? 0) - 1))
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
