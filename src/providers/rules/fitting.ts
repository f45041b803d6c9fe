import type { Repair } from '../../core/provider.ts'
import type { Message, SessionContentBlock, SessionTurn, ToolCallBlock, ToolResultBlock } from '../../core/turn.ts'
import { CallIds } from '../safe-names.ts'
import type { WireRules } from '../wire.ts'
import { isMedia, MediaCount } from './media-rules.ts'
import type { FittedMessage } from './message-rules.ts'

/** What a fitting needs of whoever fits many lists. */
export interface Kit {
  readonly rules: WireRules
  /** What the rules for single messages make of one. */
  one(message: Message): FittedMessage
  /** A changed message, the same object whenever the same is changed about it: its bytes are kept by its identity. */
  variant(message: Message, key: string, make: () => readonly SessionContentBlock[]): Message
  /** Hears for each block of what was made of a message which one it was before. */
  reordered(message: Message, blocks: readonly number[]): void
}

/** One list on its way through the rules that concern more than one message. It may grow. */
export class Fitting {
  count = 0
  readonly #kit: Kit
  #list: readonly Message[] = []
  #ids: CallIds
  #messages: Message[] = []
  #sources: number[] = []
  #repairs: Repair[] = []
  /** The calls that wait for results. */
  #asked: Asked[] = []
  /** What the user said while calls waited: their results may still come. */
  #said: Piece[] = []
  #media = new MediaCount()
  #mediaSeen = 0
  /** So many images and documents, the oldest, are left out: the service takes no more. */
  #mediaLeftOut = 0

  constructor(kit: Kit) {
    this.#kit = kit
    this.#ids = new CallIds(kit.rules.callId)
  }

  grow(list: readonly Message[]): void {
    this.#list = list
    this.#addAll()
    if (this.#media.fits(this.#kit.rules)) return
    this.#restart()
    this.#addAll()
  }

  takeRepairs(): Repair[] {
    const repairs = this.#repairs
    this.#repairs = []
    return repairs
  }

  /** What is unfinished at the end is finished in a list of its own, for more may come. */
  result(isOpenEnded: boolean): { messages: readonly Message[]; sources: readonly number[] } {
    const end = this.#end(isOpenEnded)
    if (!end) return { messages: this.#messages, sources: this.#sources }
    return { messages: [...this.#messages, end.message], sources: [...this.#sources, end.source] }
  }

  #end(isOpenEnded: boolean): Made | undefined {
    if (this.#asked.length > 0) return this.#answers()
    const { endsWithUser } = this.#kit.rules
    const last = this.#messages.at(-1)
    // No service takes a conversation in which nothing is left of what the user said.
    const isEmptied = !last && this.#list.some(({ role }) => role !== 'assistant')
    const needsUser = isEmptied || (endsWithUser && !isOpenEnded && last?.role !== 'user')
    return needsUser ? { message: goOn, source: madeUp } : undefined
  }

  #addAll(): void {
    for (; this.count < this.#list.length; this.count++) this.#add(this.count)
  }

  #add(source: number): void {
    const { message, blocks, repairs } = this.#kit.one(this.#list[source]!)
    for (const { block, rule, detail } of repairs) this.#tell(rule, source, block, detail)
    const bearable = this.#withoutOldMedia(message, source, blocks)
    this.#media.add(bearable)
    if (message.role === 'assistant') this.#addAssistant(bearable, source, blocks)
    else this.#addUser(bearable, source, blocks)
  }

  #addAssistant(message: Message, source: number, blocks: readonly number[]): void {
    if (this.#asked.length > 0) this.#settle()
    if (message.content.length === 0) {
      this.#tell('empty-message', source)
      return
    }
    const last = this.#messages.at(-1)
    if (last?.role === 'assistant') {
      this.#tell('assistant-twice', source)
      this.#push(goOn, madeUp)
    } else if (!last && this.#kit.rules.startsWithUser) {
      this.#tell('starts-with-assistant', source)
      this.#push(beginning, madeUp)
    }
    this.#asked = message.content.flatMap((call, i): Asked[] => {
      if (call.type !== 'tool_call') return []
      const id = this.#ids.take(call.id)
      if (id !== call.id) this.#tell('call-id', source, blocks[i])
      return [{ call, id, source, block: blocks[i]! }]
    })
    this.#push(this.#renamed(message), source)
  }

  #renamed(message: Message): Message {
    if (this.#asked.every(({ call, id }) => call.id === id)) return message
    const ids = this.#asked.map(({ id }) => id)
    return this.#kit.variant(message, ids.join(' '), () =>
      message.content.map((block) => (block.type === 'tool_call' ? { ...block, id: ids.shift()! } : block)),
    )
  }

  #addUser(message: Message, source: number, blocks: readonly number[]): void {
    if (message.content.length === 0) {
      this.#tell('empty-message', source)
      return
    }
    const isPlain = this.#asked.length === 0 && !message.content.some(isResult)
    if (isPlain || this.#isWhole(message)) {
      this.#asked = []
      this.#push(message, source)
      return
    }
    for (const [i, block] of message.content.entries()) this.#hear({ block, source, from: blocks[i]! })
    if (this.#asked.every(({ answer }) => answer)) this.#settle()
  }

  /** Results first, one for each call, in the order of the calls, and nothing else that claims to be one. */
  #isWhole({ content }: Message): boolean {
    const asked = this.#asked
    if (this.#kit.rules.callNames || this.#said.length > 0 || asked.some(({ answer }) => answer)) return false
    return (
      asked.length > 0 &&
      asked.every(({ id }, i) => isResult(content[i]) && content[i].callId === id) &&
      !content.slice(asked.length).some(isResult)
    )
  }

  #hear(piece: Piece): void {
    const { block, source, from } = piece
    if (!isResult(block)) {
      this.#said.push(piece)
      return
    }
    const known = this.#asked.filter(({ call }) => call.id === block.callId)
    const asked = known.find(({ answer }) => !answer)
    if (!asked) this.#tell(known.length > 0 ? 'duplicate-result' : 'orphan-result', source, from)
    else if (this.#said.length > 0) this.#tell('result-order', source, from)
    if (asked) asked.answer = piece
  }

  #settle(): void {
    const { message, source } = this.#answers()
    this.#asked = []
    this.#said = []
    if (message.content.length > 0) this.#push(message, source)
  }

  /** One message with a result for each call that waits, then whatever else was said. */
  #answers(): Made {
    const results = this.#asked.map((asked, i): Piece => {
      const { answer, source, block } = asked
      const before = this.#asked[i - 1]?.answer
      if (!answer) this.#tell('missing-result', source, block)
      else if (before?.source === answer.source && before.from > answer.from)
        this.#tell('result-order', answer.source, answer.from)
      return this.#answerTo(asked)
    })
    const pieces = [...results, ...this.#said]
    const content = pieces.map(({ block }) => block)
    const { source } = pieces[0] ?? { source: madeUp }
    const isOfOne = source !== madeUp && pieces.every((piece) => piece.source === source)
    if (!isOfOne) return { message: { role: 'user', content }, source: madeUp }
    const original = this.#list[source]!
    this.#kit.reordered(
      original,
      pieces.map(({ from }) => from),
    )
    const key = `${this.#mediaLeftOut} ${results.map(({ block, from }) => `${from} ${nameOf(block)}`).join()}`
    return { message: this.#kit.variant(this.#kit.one(original).message, key, () => content), source }
  }

  #answerTo({ call, id, answer }: Asked): Piece {
    const given = (answer?.block ?? missing) as ToolResultBlock & { name?: string }
    const name = this.#kit.rules.callNames ? call.name : given.name
    const isSame = given.callId === id && given.name === name
    const block = isSame ? given : { ...given, callId: id, ...(name !== undefined && { name }) }
    return { source: madeUp, from: 0, ...answer, block }
  }

  #push(message: Message, source: number): void {
    this.#messages.push(message)
    this.#sources.push(source)
  }

  #withoutOldMedia(message: Message, source: number, blocks: readonly number[]): Message {
    if (this.#mediaSeen >= this.#mediaLeftOut) return message
    const before = this.#mediaSeen
    const content = message.content.map((block, i): SessionContentBlock => {
      const seen = this.#mediaSeen
      const blind = <T extends SessionContentBlock>(part: T): T =>
        isMedia(part) && this.#mediaSeen++ < this.#mediaLeftOut ? (noteOf(part) as T) : part
      const isList = block.type === 'tool_result' && typeof block.output !== 'string'
      const shown = isList ? { ...block, output: block.output.map(blind) } : blind(block)
      if (this.#mediaSeen === seen || seen >= this.#mediaLeftOut) return block
      this.#tell('too-many-images', source, blocks[i])
      return shown
    })
    if (this.#mediaSeen === before) return message
    return this.#kit.variant(message, `media ${before} ${this.#mediaLeftOut}`, () => content)
  }

  #restart(): void {
    const fitted = this.#list.map((message) => this.#kit.one(message).message)
    this.#mediaLeftOut = MediaCount.excess(fitted, this.#kit.rules)
    this.#mediaSeen = 0
    this.#media = new MediaCount()
    this.#ids = new CallIds(this.#kit.rules.callId)
    this.#messages = []
    this.#sources = []
    this.#repairs = []
    this.#asked = []
    this.#said = []
    this.count = 0
  }

  #tell(rule: string, source: number, block?: number, detail?: string): void {
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

/** What was made of no message, or of several. */
const madeUp = -1

interface Made {
  readonly message: Message
  readonly source: number
}

interface Asked {
  readonly call: ToolCallBlock
  /** Under which it goes out. */
  readonly id: string
  readonly source: number
  readonly block: number
  answer?: Piece
}

/** A block on its way to another message. */
interface Piece {
  readonly block: SessionContentBlock
  readonly source: number
  readonly from: number
}

const isResult = (block: SessionContentBlock | undefined): block is ToolResultBlock => block?.type === 'tool_result'

const nameOf = (block: SessionContentBlock & { callId?: unknown; name?: unknown }): string =>
  `${String(block.callId)} ${String(block.name)}`

const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const goOn = said('Continue.')
const beginning = said('(The beginning of this conversation is missing.)')

const missing: ToolResultBlock = {
  type: 'tool_result',
  callId: '',
  output: 'Missing: there is no record of this result',
  isError: true,
}

const noteOf = ({ type }: SessionContentBlock): SessionContentBlock => ({
  type: 'text',
  text: `[${type} left out: this service takes no more of them at once]`,
})
