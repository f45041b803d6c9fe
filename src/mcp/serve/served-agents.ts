import type { Agent } from '../../core/agent.ts'
import type { InteractionKind, InteractionResponse } from '../../core/interaction.ts'
import type { RunOptions } from '../../core/run.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { askableKinds } from './elicitation.ts'

export interface McpAgentServerOptions {
  /** The name and version that clients see. */
  readonly name: string
  readonly version: string
  /** Sent to clients, for their models. */
  readonly instructions?: string
  /** Makes a new agent at each call. */
  readonly agent: MakeAgent
  /** Whether to offer the agent itself as the tool `run_agent`, and each of its tools. Default: both. */
  readonly expose?: { readonly agent?: boolean; readonly tools?: boolean }
  readonly sessions?: {
    /** How many conversations are kept in memory. Default 50. */
    readonly most?: number
    /** Whether your program stored a conversation that is no longer in memory: then `agent` is called with its `sessionId`. */
    readonly knows?: (sessionId: string) => boolean | Promise<boolean>
  }
  /** Receives protocol errors of clients and similar problems. Default: they are ignored. */
  readonly onError?: (problem: string) => void
}

export type MakeAgent = (request: AgentRequest) => Agent | OwnedAgent | Promise<Agent | OwnedAgent>

/** What an agent is needed for. */
export interface AgentRequest {
  /** The user of the client, for `createAgent({ authority: { interactors } })`. Empty if the client cannot ask its user. */
  readonly interactors: readonly ClientUser[]
  /** The conversation that `run_agent` begins or continues; absent for single tool calls. */
  readonly sessionId?: string
}

/** The user of a client, as an interactor of an authority. */
export interface ClientUser {
  readonly name: string
  readonly kinds: readonly InteractionKind[]
  present(question: ClientQuestion): Promise<InteractionResponse>
}

export interface ClientQuestion {
  readonly kind: InteractionKind
  readonly payload: Readonly<Record<string, unknown>>
  /** Aborted when the question is withdrawn. */
  readonly signal: AbortSignal
}

/** An agent with the options of its runs, and a function that closes everything made for it. */
export interface OwnedAgent {
  readonly agent: Agent
  readonly run?: Pick<RunOptions, 'model' | 'thinking'>
  /** Called instead of `agent.destroy()`. */
  close(): Promise<void>
}

/** An agent that serves one call after another. `ask` asks the user of the current client, if that client can. */
export interface ServedAgent extends Required<OwnedAgent> {
  readonly canAsk: boolean
  ask: ClientUser['present'] | undefined
}

async function makeServedAgent(
  make: MakeAgent,
  { canAsk, sessionId }: { canAsk: boolean; sessionId?: string },
): Promise<ServedAgent> {
  const user: ClientUser = {
    name: 'client',
    // Another client, which cannot ask its user, may continue the conversation.
    get kinds() {
      return served?.ask ? askableKinds : []
    },
    async present(question) {
      if (!served?.ask) throw new Error('the client that could be asked is gone')
      return served.ask(question)
    },
  }
  let served: ServedAgent | undefined
  const made = await make({ interactors: canAsk ? [user] : [], ...(sessionId !== undefined && { sessionId }) })
  const { agent, run = {}, close } = 'agent' in made ? made : { agent: made, close: () => made.destroy() }
  served = { agent, run, close, canAsk, ask: undefined }
  return served
}

/**
 * The agents for single tool calls. Calls one after another use the same agent, with its background commands and lists;
 * concurrent calls get an agent each.
 */
export class IdleAgents {
  readonly #make: MakeAgent
  readonly #idle: ServedAgent[] = []
  #isClosed = false

  constructor(make: MakeAgent) {
    this.#make = make
  }

  async use<T>(canAsk: boolean, work: (served: ServedAgent) => Promise<T>): Promise<T> {
    const at = this.#idle.findLastIndex((served) => served.canAsk === canAsk)
    const served = at < 0 ? await makeServedAgent(this.#make, { canAsk }) : this.#idle.splice(at, 1)[0]!
    try {
      return await work(served)
    } finally {
      served.ask = undefined
      await this.#release(served)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#idle.splice(0).map((served) => served.close()))
  }

  async #release(served: ServedAgent): Promise<void> {
    if (this.#isClosed) return served.close()
    // A reset forgets the turns and keeps what was started.
    if (served.agent.turns.length > mostTurns && !(await isReset(served))) return served.close()
    this.#idle.push(served)
    if (this.#idle.length > mostIdle) await this.#idle.shift()?.close()
  }
}

function isReset({ agent }: ServedAgent): Promise<boolean> {
  return agent.reset().then(
    () => true,
    () => false,
  )
}

const mostIdle = 4
const mostTurns = 300

interface ConversationsOptions {
  readonly make: MakeAgent
  /** How many are kept; the least recently used one is closed first. */
  readonly most: number
  readonly knows?: (sessionId: string) => boolean | Promise<boolean>
}

/** The conversations that clients may continue, each with its own agent. */
export class Conversations {
  readonly #options: ConversationsOptions
  /** Least recently used first. */
  readonly #kept = new Map<string, ServedAgent>()
  readonly #busy = new Set<string>()
  #isClosed = false

  constructor(options: ConversationsOptions) {
    this.#options = options
  }

  /** Begins a conversation, or continues the one with `id`. The messages of its errors are meant for the client. */
  async use<T>(
    { id: given, canAsk }: { id: string | undefined; canAsk: boolean },
    work: (served: ServedAgent, id: string) => Promise<T>,
  ): Promise<T> {
    const id = given ?? crypto.randomUUID()
    if (this.#busy.has(id))
      throw new Error(`the conversation ${id} is at work; wait for its answer, or leave out session to begin another`)
    this.#busy.add(id)
    try {
      const served = await this.#agentFor(id, given === undefined, canAsk)
      this.#kept.delete(id)
      this.#kept.set(id, served)
      return await work(served, id).finally(() => {
        served.ask = undefined
      })
    } finally {
      this.#busy.delete(id)
      await this.#dropOldest()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#kept.values()]
    this.#kept.clear()
    await Promise.allSettled(all.map((served) => served.close()))
  }

  async #agentFor(id: string, isNew: boolean, canAsk: boolean): Promise<ServedAgent> {
    const { make, knows } = this.#options
    const kept = this.#kept.get(id)
    if (kept) return kept
    if (!isNew && !(await knows?.(id)))
      throw new Error(
        `there is no conversation ${visibleName(id.slice(0, 100))} any more; leave out session to begin one, and say what it has to know`,
      )
    return makeServedAgent(make, { canAsk, sessionId: id })
  }

  async #dropOldest(): Promise<void> {
    const idle = [...this.#kept].filter(([id]) => !this.#busy.has(id))
    const most = this.#isClosed ? 0 : this.#options.most
    for (const [id, served] of idle.slice(0, Math.max(0, this.#kept.size - most))) {
      this.#kept.delete(id)
      await served.close()
    }
  }
}
