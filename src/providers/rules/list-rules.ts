import type { Repair } from '../../core/provider.ts'
import type { Message, SessionContentBlock, SessionTurn, ToolCallBlock, ToolResultBlock } from '../../core/turn.ts'
import { CallIds } from '../safe-names.ts'
import type { WireRules } from '../wire.ts'
import { isMedia, MediaCount } from './media-rules.ts'
import type { RepairedMessage } from './message-rules.ts'

/** What a list needs of the `TranscriptRules` that it belongs to. */
export interface ListRepairContext {
  readonly rules: WireRules
  /** Applies the rules for single messages. */
  repairMessage(message: Message): RepairedMessage
  /** A changed message. The same change gives the same object, because its bytes are cached by identity. */
  variantOf(message: Message, key: string, make: () => readonly SessionContentBlock[]): Message
  /** Remembers, for each block of a reordered message, its index in the original. */
  recordOrder(message: Message, blockIndexes: readonly number[]): void
}

/** Applies the rules that concern several messages to one list, which may grow. */
export class ListRepair {
  count = 0
  readonly #context: ListRepairContext
  #list: readonly Message[] = []
  #ids: CallIds
  #messages: Message[] = []
  #sources: number[] = []
  #repairs: Repair[] = []
  /** The calls without a result so far. */
  #openCalls: OpenCall[] = []
  /** Blocks of the user that came while calls were open. The results of these calls may still follow, and go first. */
  #heldBack: MovedBlock[] = []
  #media = new MediaCount()
  #mediaSeen = 0
  /** How many images and documents are left out, the oldest first: the service takes no more. */
  #mediaOmitted = 0

  constructor(context: ListRepairContext) {
    this.#context = context
    this.#ids = new CallIds(context.rules.callId)
  }

  grow(list: readonly Message[]): void {
    this.#list = list
    this.#addAll()
    if (this.#media.fits(this.#context.rules)) return
    this.#restart()
    this.#addAll()
  }

  takeRepairs(): Repair[] {
    const repairs = this.#repairs
    this.#repairs = []
    return repairs
  }

  /** Missing results or a missing user message at the end are added to a copy, because the list may still grow. */
  result(isOpenEnded: boolean): { messages: readonly Message[]; sources: readonly number[] } {
    const end = this.#end(isOpenEnded)
    if (!end) return { messages: this.#messages, sources: this.#sources }
    return { messages: [...this.#messages, end.message], sources: [...this.#sources, end.source] }
  }

  #end(isOpenEnded: boolean): MadeMessage | undefined {
    if (this.#openCalls.length > 0) return this.#resultMessage()
    const { endsWithUser } = this.#context.rules
    const last = this.#messages.at(-1)
    // Every service refuses a conversation without a user message.
    const isEmptied = !last && this.#list.some(({ role }) => role !== 'assistant')
    const needsUser = isEmptied || (endsWithUser && !isOpenEnded && last?.role !== 'user')
    return needsUser ? { message: continueMessage, source: noSource } : undefined
  }

  #addAll(): void {
    for (; this.count < this.#list.length; this.count++) this.#add(this.count)
  }

  #add(source: number): void {
    const { message, blockIndexes, repairs } = this.#context.repairMessage(this.#list[source]!)
    for (const { block, rule, detail } of repairs) this.#report(rule, source, block, detail)
    const reduced = this.#withoutOldMedia(message, source, blockIndexes)
    this.#media.add(reduced)
    if (message.role === 'assistant') this.#addAssistant(reduced, source, blockIndexes)
    else this.#addUser(reduced, source, blockIndexes)
  }

  #addAssistant(message: Message, source: number, blockIndexes: readonly number[]): void {
    if (this.#openCalls.length > 0) this.#flushOpenCalls()
    if (message.content.length === 0) {
      this.#report('empty-message', source)
      return
    }
    const last = this.#messages.at(-1)
    if (last?.role === 'assistant') {
      this.#report('assistant-twice', source)
      this.#push(continueMessage, noSource)
    } else if (!last && this.#context.rules.startsWithUser) {
      this.#report('starts-with-assistant', source)
      this.#push(missingStart, noSource)
    }
    this.#openCalls = message.content.flatMap((call, i): OpenCall[] => {
      if (call.type !== 'tool_call') return []
      const id = this.#ids.take(call.id)
      if (id !== call.id) this.#report('call-id', source, blockIndexes[i])
      return [{ call, id, source, block: blockIndexes[i]! }]
    })
    this.#push(this.#withCallIds(message), source)
  }

  #withCallIds(message: Message): Message {
    if (this.#openCalls.every(({ call, id }) => call.id === id)) return message
    const ids = this.#openCalls.map(({ id }) => id)
    return this.#context.variantOf(message, ids.join(' '), () =>
      message.content.map((block) => (block.type === 'tool_call' ? { ...block, id: ids.shift()! } : block)),
    )
  }

  #addUser(message: Message, source: number, blockIndexes: readonly number[]): void {
    if (message.content.length === 0) {
      this.#report('empty-message', source)
      return
    }
    const isPlain = this.#openCalls.length === 0 && !message.content.some(isResult)
    if (isPlain || this.#answersInOrder(message)) {
      this.#openCalls = []
      this.#push(message, source)
      return
    }
    for (const [i, block] of message.content.entries()) this.#collect({ block, source, index: blockIndexes[i]! })
    if (this.#openCalls.every(({ result }) => result)) this.#flushOpenCalls()
  }

  /** Whether the message begins with one result for each open call, in their order, and has no other results. */
  #answersInOrder({ content }: Message): boolean {
    const calls = this.#openCalls
    if (this.#context.rules.toolNameOnResults || this.#heldBack.length > 0 || calls.some(({ result }) => result))
      return false
    return (
      calls.length > 0 &&
      calls.every(({ id }, i) => isResult(content[i]) && content[i].callId === id) &&
      !content.slice(calls.length).some(isResult)
    )
  }

  /** Assigns a result to its call, or holds another block back until all results are there. */
  #collect(moved: MovedBlock): void {
    const { block, source, index } = moved
    if (!isResult(block)) {
      this.#heldBack.push(moved)
      return
    }
    const calls = this.#openCalls.filter(({ call }) => call.id === block.callId)
    const open = calls.find(({ result }) => !result)
    if (!open) this.#report(calls.length > 0 ? 'duplicate-result' : 'orphan-result', source, index)
    else if (this.#heldBack.length > 0) this.#report('result-order', source, index)
    if (open) open.result = moved
  }

  #flushOpenCalls(): void {
    const { message, source } = this.#resultMessage()
    this.#openCalls = []
    this.#heldBack = []
    if (message.content.length > 0) this.#push(message, source)
  }

  /** One message with a result for each open call, then what was held back. */
  #resultMessage(): MadeMessage {
    const results = this.#openCalls.map((open, i): MovedBlock => {
      const { result, source, block } = open
      const before = this.#openCalls[i - 1]?.result
      if (!result) this.#report('missing-result', source, block)
      else if (before?.source === result.source && before.index > result.index)
        this.#report('result-order', result.source, result.index)
      return this.#resultFor(open)
    })
    const blocks = [...results, ...this.#heldBack]
    const content = blocks.map(({ block }) => block)
    const { source } = blocks[0] ?? { source: noSource }
    const isFromOneMessage = source !== noSource && blocks.every((moved) => moved.source === source)
    if (!isFromOneMessage) return { message: { role: 'user', content }, source: noSource }
    const original = this.#list[source]!
    this.#context.recordOrder(
      original,
      blocks.map(({ index }) => index),
    )
    const key = `${this.#mediaOmitted} ${results.map(({ block, index }) => `${index} ${nameOf(block)}`).join()}`
    return {
      message: this.#context.variantOf(this.#context.repairMessage(original).message, key, () => content),
      source,
    }
  }

  #resultFor({ call, id, result }: OpenCall): MovedBlock {
    const original = (result?.block ?? missingResult) as ToolResultBlock & { name?: string }
    const name = this.#context.rules.toolNameOnResults ? call.name : original.name
    const isSame = original.callId === id && original.name === name
    const block = isSame ? original : { ...original, callId: id, ...(name !== undefined && { name }) }
    return { source: noSource, index: 0, ...result, block }
  }

  #push(message: Message, source: number): void {
    this.#messages.push(message)
    this.#sources.push(source)
  }

  #withoutOldMedia(message: Message, source: number, blockIndexes: readonly number[]): Message {
    if (this.#mediaSeen >= this.#mediaOmitted) return message
    const before = this.#mediaSeen
    const content = message.content.map((block, i): SessionContentBlock => {
      const seen = this.#mediaSeen
      const withoutMedia = <T extends SessionContentBlock>(part: T): T =>
        isMedia(part) && this.#mediaSeen++ < this.#mediaOmitted ? (omissionOf(part) as T) : part
      const isList = block.type === 'tool_result' && typeof block.output !== 'string'
      const shown = isList ? { ...block, output: block.output.map(withoutMedia) } : withoutMedia(block)
      if (this.#mediaSeen === seen || seen >= this.#mediaOmitted) return block
      this.#report('too-many-images', source, blockIndexes[i])
      return shown
    })
    if (this.#mediaSeen === before) return message
    return this.#context.variantOf(message, `media ${before} ${this.#mediaOmitted}`, () => content)
  }

  #restart(): void {
    const repaired = this.#list.map((message) => this.#context.repairMessage(message).message)
    this.#mediaOmitted = MediaCount.excess(repaired, this.#context.rules)
    this.#mediaSeen = 0
    this.#media = new MediaCount()
    this.#ids = new CallIds(this.#context.rules.callId)
    this.#messages = []
    this.#sources = []
    this.#repairs = []
    this.#openCalls = []
    this.#heldBack = []
    this.count = 0
  }

  #report(rule: string, source: number, block?: number, detail?: string): void {
    const { id: repairedTurnId } = this.#list[source] as Partial<SessionTurn>
    this.#repairs.push({
      rule,
      message: source,
      ...(block !== undefined && { block }),
      ...(repairedTurnId !== undefined && { repairedTurnId }),
      ...(detail !== undefined && { detail }),
    })
  }
}

/** The source of a message that was made of none, or of several. */
const noSource = -1

interface MadeMessage {
  readonly message: Message
  readonly source: number
}

interface OpenCall {
  readonly call: ToolCallBlock
  /** The id that is sent. */
  readonly id: string
  readonly source: number
  readonly block: number
  result?: MovedBlock
}

/** A block that moves to another message, with the message and the index it comes from. */
interface MovedBlock {
  readonly block: SessionContentBlock
  readonly source: number
  readonly index: number
}

const isResult = (block: SessionContentBlock | undefined): block is ToolResultBlock => block?.type === 'tool_result'

const nameOf = (block: SessionContentBlock & { callId?: unknown; name?: unknown }): string =>
  `${String(block.callId)} ${String(block.name)}`

const userMessage = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const continueMessage = userMessage('Continue.')
const missingStart = userMessage('(The beginning of this conversation is missing.)')

const missingResult: ToolResultBlock = {
  type: 'tool_result',
  callId: '',
  output: 'Missing: there is no record of this result',
  isError: true,
}

const omissionOf = ({ type }: SessionContentBlock): SessionContentBlock => ({
  type: 'text',
  text: `[${type} left out: this service takes no more of them at once]`,
})
