import { isRecord } from '../../core/is-record.ts'
import { memoize } from '../../core/memoize.ts'
import type { Message, SessionContentBlock, TextBlock, ToolCallBlock, ToolResultBlock } from '../../core/turn.ts'
import { partsBeyondText, resultText } from './result-text.ts'
import { between, isSpoken, type Neighbour, type SpokenBlock, spokenData, spokenWords } from './spoken-call.ts'

/**
 * Conversations without calls and results: both become text. What a message becomes depends on itself and on the calls
 * it answers, so it stays the same for good; a list that grows costs what was added.
 */
export function messagesAsText(): (messages: readonly Message[]) => readonly Message[] {
  const lists = new WeakMap<readonly Message[], { made: Message[]; calls: Map<string, ToolCallBlock> }>()
  const spoken = memoize((message: Message) => ({ made: spokenMessage(message) }))
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
      list.made.push(message.role === 'assistant' ? spoken(message).made : answers(message, list.calls))
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
  const about = call ? { name: call.name, parameters: call.input } : { name: 'unknown' }
  return [{ type: 'text', text: resultText({ ...about, output, isError }) }, ...partsBeyondText(output)]
}

/** A text of the model's, as it grows. */
interface Speech {
  text: string
  last: SpokenBlock
  readonly providerData: TextBlock['providerData']
}

/** Thoughts, texts and calls that follow each other were one text, and become one again. */
function spokenMessage(message: Message): Message {
  const isOurs = (block: SessionContentBlock): boolean =>
    isSpoken(block) && (block.type !== 'text' || block.providerData?.textTools !== undefined)
  if (!message.content.some(isOurs)) return message
  const content: SessionContentBlock[] = []
  let speech: Speech | undefined
  const finish = (): void => {
    if (speech) content.push(blockOf(speech))
    speech = undefined
  }
  for (const block of message.content) {
    if (!isSpoken(block)) {
      finish()
      content.push(block)
      continue
    }
    if (speech && startsAnew(speech.last, block)) finish()
    const text = (speech?.text ?? '') + spaceBetween(speech?.last, block) + spokenWords(block)
    speech = { text, last: block, providerData: speech ? speech.providerData : ownData(block) }
  }
  finish()
  return { ...message, content }
}

function blockOf({ text, last, providerData }: Speech): TextBlock {
  return { type: 'text', text: text + spaceBetween(last, undefined), ...(providerData && { providerData }) }
}

function startsAnew(last: SpokenBlock, block: SpokenBlock): boolean {
  if (last.type === 'text' && block.type === 'text') return true
  return spokenData(block).starts === true || ownData(block) !== undefined
}

function spaceBetween(last: SpokenBlock | undefined, next: SpokenBlock | undefined): string {
  const { after } = last?.type === 'tool_call' ? spokenData(last) : {}
  const { before } = next?.type === 'tool_call' ? spokenData(next) : {}
  const said = next?.type === 'tool_call' ? before : after
  return typeof said === 'string' ? said : between(kindOf(last), kindOf(next))
}

function kindOf(block: SpokenBlock | undefined): Neighbour {
  if (block?.type === 'thinking') return undefined
  if (block?.type !== 'tool_call') return block?.type
  return block.providerData?.parallel === true ? 'parallel call' : 'call'
}

/** What the provider itself said of the text that begins with this block. */
function ownData(block: SpokenBlock): TextBlock['providerData'] {
  if (block.type !== 'text') return isRecord(spokenData(block).block) ? spokenData(block).block : undefined
  const { textTools: _, ...own } = block.providerData ?? {}
  return Object.keys(own).length > 0 ? own : undefined
}
