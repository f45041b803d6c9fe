import { isRecord } from '../../core/is-record.ts'
import { memoize } from '../../core/memoize.ts'
import type { Refusal } from '../../core/provider.ts'
import { headOf } from '../../core/text.ts'
import type {
  Message,
  SessionContentBlock,
  TextBlock,
  ToolCallBlock,
  ToolOutput,
  ToolResultBlock,
  ToolResultContent,
} from '../../core/turn.ts'
import { between, isWritten, type Neighbour, type WrittenBlock, writtenData, writtenText } from './written-call.ts'

/**
 * Turns calls and results of a conversation into text. The text of a message depends on itself and on the calls it
 * answers, so it never changes; for a growing list only new messages are converted.
 */
export function messagesAsText(): (messages: readonly Message[]) => readonly Message[] {
  const lists = new WeakMap<readonly Message[], { made: Message[]; calls: Map<string, ToolCallBlock> }>()
  const joined = memoize((message: Message) => ({ made: joinedMessage(message) }))
  const answered = new WeakMap<Message, { calls: readonly (ToolCallBlock | undefined)[]; made: Message }>()

  function answers(message: Message, known: ReadonlyMap<string, ToolCallBlock>): Message {
    const calls = message.content.filter(isResult).map(({ callId }) => known.get(callId))
    if (calls.length === 0) return message
    const last = answered.get(message)
    if (last && calls.every((call, i) => call === last.calls[i])) return last.made
    const made = { ...message, content: message.content.flatMap((block) => answerBlocks(block, known)) }
    answered.set(message, { calls, made })
    return made
  }

  return (messages) => {
    let list = lists.get(messages)
    if (!list || list.made.length > messages.length) lists.set(messages, (list = { made: [], calls: new Map() }))
    for (let i = list.made.length; i < messages.length; i++) {
      const message = messages[i]!
      for (const block of message.content) if (isCall(block)) list.calls.set(block.id, block)
      list.made.push(message.role === 'assistant' ? joined(message).made : answers(message, list.calls))
    }
    return list.made
  }
}

const isCall = (block: SessionContentBlock): block is ToolCallBlock => block?.type === 'tool_call'
const isResult = (block: SessionContentBlock): block is ToolResultBlock => block?.type === 'tool_result'

function answerBlocks(
  block: SessionContentBlock,
  calls: ReadonlyMap<string, ToolCallBlock>,
): readonly SessionContentBlock[] {
  if (!isResult(block)) return [block]
  const { callId, output, isError = false } = block
  const call = calls.get(callId)
  const facts = call ? { name: call.name, parameters: call.input } : { name: 'unknown' }
  return [{ type: 'text', text: resultText({ ...facts, output, isError }) }, ...partsBeyondText(output)]
}

/** A text of the model while its blocks are joined. */
interface JoinedText {
  text: string
  last: WrittenBlock
  readonly providerData: TextBlock['providerData']
}

/** Joins thoughts, texts and calls in a row into the one text that they were. */
function joinedMessage(message: Message): Message {
  const isOurs = (block: SessionContentBlock): boolean =>
    isWritten(block) && (block.type !== 'text' || block.providerData?.textTools !== undefined)
  if (!message.content.some(isOurs)) return message
  const content: SessionContentBlock[] = []
  let joined: JoinedText | undefined
  const finish = (): void => {
    if (joined) content.push(blockOf(joined))
    joined = undefined
  }
  for (const block of message.content) {
    if (!isWritten(block)) {
      finish()
      content.push(block)
      continue
    }
    if (joined && startsAnew(joined.last, block)) finish()
    const text = (joined?.text ?? '') + spaceBetween(joined?.last, block) + writtenText(block)
    joined = { text, last: block, providerData: joined ? joined.providerData : ownData(block) }
  }
  finish()
  return { ...message, content }
}

function blockOf({ text, last, providerData }: JoinedText): TextBlock {
  return { type: 'text', text: text + spaceBetween(last, undefined), ...(providerData && { providerData }) }
}

function startsAnew(last: WrittenBlock, block: WrittenBlock): boolean {
  if (last.type === 'text' && block.type === 'text') return true
  return writtenData(block).starts === true || ownData(block) !== undefined
}

function spaceBetween(last: WrittenBlock | undefined, next: WrittenBlock | undefined): string {
  const { after } = last?.type === 'tool_call' ? writtenData(last) : {}
  const { before } = next?.type === 'tool_call' ? writtenData(next) : {}
  const said = next?.type === 'tool_call' ? before : after
  return typeof said === 'string' ? said : between(kindOf(last), kindOf(next))
}

function kindOf(block: WrittenBlock | undefined): Neighbour {
  if (block?.type === 'thinking') return undefined
  if (block?.type !== 'tool_call') return block?.type
  return block.providerData?.parallel === true ? 'parallel call' : 'call'
}

/** The provider's own data about the text that begins with this block. */
function ownData(block: WrittenBlock): TextBlock['providerData'] {
  if (block.type !== 'text') return isRecord(writtenData(block).block) ? writtenData(block).block : undefined
  const { textTools: _, ...own } = block.providerData ?? {}
  return Object.keys(own).length > 0 ? own : undefined
}

/** A conversation as it was given by the engine, and as it was sent. */
export interface SentConversation {
  readonly given: readonly Message[]
  readonly sent: readonly Message[]
}

/** Translates a position in the sent conversation to the given one; without a block if several were joined. */
export function originalPosition<Position extends Refusal>(
  position: Position,
  { given, sent }: SentConversation,
): Position {
  const { message = -1, block } = position
  if (block === undefined || given[message] === sent[message]) return position
  const { block: _, ...whole } = position
  const found = originalBlock(given[message], block)
  return (found === undefined ? whole : { ...whole, block: found }) as Position
}

/** Each result became a text, followed by its images and documents. */
function originalBlock(given: Message | undefined, block: number): number | undefined {
  if (given?.role !== 'user') return undefined
  let left = block
  for (const [i, one] of given.content.entries()) {
    left -= one.type === 'tool_result' ? 1 + partsBeyondText(one.output).length : 1
    if (left < 0) return i
  }
  return undefined
}

/** The result of a call, for a model that reads only text. */
interface TextResult {
  readonly name: string
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly output: ToolOutput
  readonly isError?: boolean
}

/** The characters of a result that a model sees; the log keeps all. */
const mostResultCharacters = 32_000

/** The whole parameters are in the call itself. */
const mostParameterCharacters = 2000

/** A result as a block of text that names its call. */
export function resultText({ name, parameters = {}, output, isError = false }: TextResult): string {
  return [
    '<functions_result>',
    `Tool: ${escapeTags(name).replace(/\s+/g, ' ')}`,
    `Parameters: ${escapeTags(cut(JSON.stringify(parameters) ?? '{}', mostParameterCharacters))}`,
    `${isError ? 'Error' : 'Result'}: ${escapeTags(cut(outputText(output), mostResultCharacters))}`,
    '</functions_result>',
  ].join('\n')
}

/** The images and documents of an output. They follow the block. */
function partsBeyondText(output: ToolOutput): Exclude<ToolResultContent, { type: 'text' }>[] {
  return Array.isArray(output) ? output.filter((part) => part.type !== 'text') : []
}

function outputText(output: ToolOutput): string {
  if (typeof output === 'string') return output
  if (!Array.isArray(output)) return JSON.stringify(output) ?? '' // from a log of another program
  return (output as readonly ToolResultContent[]).map(partText).join('\n')
}

function partText(part: ToolResultContent): string {
  if (part.type === 'text') return part.text
  const name = part.type === 'document' && part.name !== undefined ? `${part.name}, ` : ''
  return `[${part.type}: ${name}${part.mediaType}, it follows]`
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  return `${headOf(text, most)}\n[cut: these are the first ${most} of ${text.length} characters]`
}

/** Escapes tags, so that a result cannot pretend to end, or to be another one. */
const escapeTags = (text: string): string => text.replace(/<(?=[\s/]{0,20}functions_result)/gi, '&lt;')
