import type { AgentInstanceMessage, MessageMetadata } from './message.ts'

/** The messages of one agent by their ids, in the order in which they were said. */
export class KeptMessages {
  readonly #agentId: string
  readonly #messages = new Map<string, AgentInstanceMessage>()
  #list: readonly AgentInstanceMessage[] | undefined

  constructor(agentId: string) {
    this.#agentId = agentId
  }

  /** The same list as long as nothing changes. */
  get list(): readonly AgentInstanceMessage[] {
    this.#list ??= [...this.#messages.values()]
    return this.#list
  }

  get(id: string): AgentInstanceMessage | undefined {
    return this.#messages.get(id)
  }

  put(
    { id, createdAt, round }: { readonly id: string; readonly createdAt: number; readonly round: number },
    own: Pick<AgentInstanceMessage, 'role' | 'content'> & Partial<AgentInstanceMessage>,
  ): AgentInstanceMessage {
    const metadata: MessageMetadata = { ...own.metadata, round, isComplete: true, isPersisted: true }
    return this.#set({ id, agentId: this.#agentId, created: createdAt, modified: createdAt, ...own, metadata })
  }

  /** Adds to what is said about a message; `undefined` where there is none. */
  change(id: string, change: (metadata: MessageMetadata) => MessageMetadata): AgentInstanceMessage | undefined {
    const message = this.#messages.get(id)
    if (!message) return undefined
    const { metadata = {} } = message
    return this.#set({ ...message, metadata: { ...metadata, ...change(metadata) } })
  }

  #set(message: AgentInstanceMessage): AgentInstanceMessage {
    this.#messages.set(message.id, message)
    this.#list = undefined
    return message
  }

  clear(): void {
    this.#messages.clear()
    this.#list = undefined
  }
}
