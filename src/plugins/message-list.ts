import type { AgentInstanceMessage, MessageMetadata } from './message.ts'
import type { MessageBody } from './row-messages.ts'

/** A place in the list. */
interface MessagePlace {
  readonly id: string
  /** The log entry that it comes from. */
  readonly seq: number
  readonly createdAt: number
  readonly round: number
  /** `answer`: shown with the status of the agent. `begins`: no answer before it counts. */
  readonly mark?: 'answer' | 'begins'
}

/** The messages of one agent by their ids, in their order. */
export class MessageList {
  readonly #agentId: string
  readonly #messages = new Map<
    string,
    { readonly message: AgentInstanceMessage } & Pick<MessagePlace, 'seq' | 'mark'>
  >()
  #list: readonly AgentInstanceMessage[] | undefined
  #lastAnswer: string | undefined

  constructor(agentId: string) {
    this.#agentId = agentId
  }

  /** The same list as long as nothing changes. */
  get list(): readonly AgentInstanceMessage[] {
    this.#list ??= [...this.#messages.values()].map(({ message }) => message)
    return this.#list
  }

  /** The message that is shown with the status. */
  get lastAnswer(): AgentInstanceMessage | undefined {
    return this.#lastAnswer === undefined ? undefined : this.get(this.#lastAnswer)
  }

  get(id: string): AgentInstanceMessage | undefined {
    return this.#messages.get(id)?.message
  }

  put({ id, seq, createdAt, round, mark }: MessagePlace, body: MessageBody): AgentInstanceMessage {
    const metadata: MessageMetadata = { ...body.metadata, round, isComplete: true, isPersisted: true }
    const message = { id, agentId: this.#agentId, created: createdAt, modified: createdAt, ...body, metadata }
    this.#messages.set(id, { message, seq, ...(mark && { mark }) })
    this.#list = undefined
    this.#noteAnswer(id, mark)
    return message
  }

  #noteAnswer(id: string, mark: MessagePlace['mark']): void {
    if (mark) this.#lastAnswer = mark === 'answer' ? id : undefined
  }

  /** Changes the metadata of a message; `undefined` if there is none of that id. */
  change(id: string, change: (metadata: MessageMetadata) => MessageMetadata): AgentInstanceMessage | undefined {
    const known = this.#messages.get(id)
    if (!known) return undefined
    const { metadata = {} } = known.message
    const message = { ...known.message, metadata: { ...metadata, ...change(metadata) } }
    this.#messages.set(id, { ...known, message })
    this.#list = undefined
    return message
  }

  /** Removes what came later, and these. */
  rewind(toSeq: number, ids: ReadonlySet<string>): void {
    this.#lastAnswer = this.#list = undefined
    for (const [id, { seq, mark }] of this.#messages) {
      if (seq > toSeq || ids.has(id)) this.#messages.delete(id)
      else this.#noteAnswer(id, mark)
    }
  }
}
