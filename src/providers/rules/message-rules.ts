import { isRecord } from '../../core/is-record.ts'
import { flawOf } from '../../core/plain-json.ts'
import type {
  Message,
  ProviderData,
  SessionContentBlock,
  SessionTurn,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolOutput,
} from '../../core/turn.ts'
import type { WireRules } from '../wire.ts'
import { cleaned, cleanedJson, isClean, isCleanJson } from './clean-text.ts'
import { omissionNote, repairDocument, repairImage } from './media-rules.ts'

/** The provider and model that a conversation is sent to. Data that belongs to other ones is not sent. */
export interface Recipient {
  readonly provider: string
  readonly model: string
  /** The key of what belongs to this wire in `providerData`. */
  readonly wire: string
  /** A tool's name as the service takes it. */
  toWire(tool: string): string
}

/** A rule that was applied to a block. */
interface BlockRepair {
  readonly rule: string
  readonly block: number
  readonly detail?: string
}

export interface RepairedMessage {
  /** The same message object if nothing had to be repaired. */
  readonly message: Message
  /** For each block, the index of the block from which it was made. */
  readonly blockIndexes: readonly number[]
  readonly repairs: readonly BlockRepair[]
}

/** Applies the rules that concern one message: each block is kept, repaired or removed. */
export function repairMessage(message: Message, rules: WireRules, recipient: Recipient): RepairedMessage {
  const repairs: BlockRepair[] = []
  const tell = (block: number, rule: string, detail?: string): undefined => {
    repairs.push({ rule, block, ...(detail !== undefined && { detail }) })
  }
  const role = message.role === 'assistant' ? 'assistant' : 'user'
  if (role !== message.role) tell(0, 'wrong-role', `a message of the role ${cleaned(String(message.role))}`)
  const given: readonly SessionContentBlock[] = Array.isArray(message.content) ? message.content : []
  const origin = originOf(message, recipient)
  let kept: Kept[] = []
  for (const [from, block] of given.entries()) {
    const report = (rule: string, detail?: string): undefined => tell(from, rule, detail)
    const repaired = repairBlock(block, { role, rules, recipient, origin, report })
    if (repaired) kept.push({ block: repaired, from })
  }
  if (role === 'assistant') kept = callsLast(withoutTrailingThinking(kept, tell), origin, recipient, tell)

  const blockIndexes = kept.map(({ from }) => from)
  const isSame = kept.length === message.content?.length && kept.every(({ block }, i) => block === given[i])
  if (isSame && role === message.role) return { message, blockIndexes, repairs }
  return { message: { ...message, role, content: kept.map(({ block }) => block) }, blockIndexes, repairs }
}

interface Kept {
  readonly block: SessionContentBlock
  readonly from: number
}

type TellBlock = (block: number, rule: string, detail?: string) => void

/** Services refuse thinking at the end of a message, where a reply was cut off. */
function withoutTrailingThinking(kept: Kept[], tell: TellBlock): Kept[] {
  const length = kept.findLastIndex(({ block }) => block.type !== 'thinking') + 1
  for (const { from } of kept.slice(length)) tell(from, 'thinking-last')
  return length === kept.length ? kept : kept.slice(0, length)
}

/** Some services refuse anything after a call. A service's own reply is sent back in the order it came in. */
function callsLast(kept: Kept[], origin: Origin, { wire }: Recipient, tell: TellBlock): Kept[] {
  const first = kept.findIndex(isCall)
  const late = first < 0 ? undefined : kept.slice(first).find((entry) => !isCall(entry))
  const isForeign =
    origin === 'other provider' ||
    (origin === 'unknown' && !kept.some((entry) => isCall(entry) && wireDataOf(entry.block, wire)))
  if (!late || !isForeign) return kept
  tell(late.from, 'calls-last')
  return [...kept.filter((entry) => !isCall(entry)), ...kept.filter(isCall)]
}

const isCall = ({ block }: Kept): boolean => block.type === 'tool_call'

const wireDataOf = (block: SessionContentBlock, wire: string): unknown =>
  'providerData' in block ? block.providerData?.[wire] : undefined

interface BlockContext {
  readonly role: Message['role']
  readonly rules: WireRules
  readonly recipient: Recipient
  readonly origin: Origin
  report(rule: string, detail?: string): undefined
}

/** Which model wrote a message. An unknown one is taken for the recipient until the service refuses it. */
type Origin = 'same model' | 'unknown' | 'other model' | 'other provider'

function originOf(message: Message & Partial<SessionTurn>, recipient: Recipient): Origin {
  const { provider, model } = message
  if (provider === undefined && model === undefined) return 'unknown'
  if (provider !== undefined && provider !== recipient.provider) return 'other provider'
  return model === undefined || model === recipient.model ? 'same model' : 'other model'
}

function repairBlock(block: SessionContentBlock, of: BlockContext): SessionContentBlock | undefined {
  switch (block?.type) {
    case 'text':
      return repairText(block, of)
    case 'thinking':
      return of.role === 'assistant' ? repairThinking(block, of) : of.report('wrong-role', 'thinking in a user message')
    case 'image':
      if (of.role === 'assistant' && !of.rules.assistantImages)
        return omissionNote(block, 'assistant-image', 'the assistant made it', of.report)
      return repairImage(block, of.rules, of.report)
    case 'document':
      if (of.role === 'assistant') return omissionNote(block, 'assistant-document', 'the assistant made it', of.report)
      return repairDocument(block, of.rules, of.report)
    case 'tool_call':
      return of.role === 'assistant' ? repairCall(block, of) : of.report('wrong-role', 'a tool call in a user message')
    case 'tool_result': {
      if (of.role !== 'user') return of.report('wrong-role', 'a tool result in an assistant message')
      const output = repairOutput(block.output, of)
      return output === block.output ? block : { ...block, output }
    }
    default:
      return of.report('unknown-block', cleaned(String((block as { type?: unknown } | null)?.type)))
  }
}

function repairText(block: TextBlock, of: BlockContext): TextBlock | undefined {
  if (typeof block.text !== 'string') return of.report('malformed-block')
  const kept = keptData(block.providerData, of)
  const isRaw = isOpaque(kept, of.recipient.wire)
  if (!isRaw && block.text.trim() === '')
    return of.report(block.text === '' && block.providerData ? 'foreign-block' : 'empty-text')
  const text = repairString(block.text, of)
  if (text === block.text && kept === block.providerData) return block
  return { type: 'text', text, ...(kept && { providerData: kept }) }
}

/** A block of the service's own kind is kept whole as `block` inside `providerData`. */
function isOpaque(data: ProviderData | undefined, wire: string): boolean {
  const wireData = data?.[wire]
  return isRecord(wireData) && isRecord(wireData.block)
}

/** Data under `bound` is only sent to the model it came from; data of another provider is not sent at all. */
function keptData(data: ProviderData | undefined, of: BlockContext): ProviderData | undefined {
  const { origin, recipient } = of
  const wireData = data?.[recipient.wire]
  if (!data || wireData === undefined) return origin === 'same model' || origin === 'unknown' ? data : undefined
  if (origin === 'other provider') return undefined
  if (!isRecord(wireData) || flawOf(wireData) === 'too deep') return of.report('malformed-data')
  const clean = isCleanJson(wireData) ? wireData : cleanedData(wireData, of)
  if (origin !== 'other model') return clean === wireData ? data : { [recipient.wire]: clean }
  const { bound: _, ...kept } = clean
  return Object.keys(kept).length > 0 ? { [recipient.wire]: kept } : undefined
}

function cleanedData(wireData: Record<string, unknown>, of: BlockContext): Record<string, unknown> {
  of.report('malformed-data', badText)
  return cleanedJson(wireData)
}

function repairThinking(block: ThinkingBlock, of: BlockContext): ThinkingBlock | undefined {
  const { text, signature, providerData } = block
  if (typeof text !== 'string') return of.report('malformed-block')
  const wireData = providerData?.[of.recipient.wire]
  const isSigned = (typeof signature === 'string' && signature !== '') || wireData !== undefined
  if (!isSigned && text.trim() === '') return undefined // empty
  if (of.origin === 'other model' || of.origin === 'other provider')
    return of.report('foreign-thinking', 'it belongs to another model')
  if (of.rules.signedThinkingOnly && !isSigned) return of.report('unsigned-thinking')
  if (isClean(text) && isClean(signature ?? '') && isCleanJson(wireData)) return block
  // Changing the text would make the signature wrong.
  return isSigned ? of.report('malformed-text', badText) : { ...block, text: repairString(text, of) }
}

function repairCall(block: ToolCallBlock, of: BlockContext): ToolCallBlock {
  const { providerData, ...call } = block
  const kept = keptData(providerData, of)
  const input = repairInput(call.input, of)
  const called = typeof call.name === 'string' ? cleaned(call.name) : ''
  const name = of.recipient.toWire(called === '' ? 'unknown' : called)
  if (name !== call.name) of.report('tool-name', `it is sent as ${name}`)
  if (input === call.input && name === call.name && kept === providerData) return block
  return { ...call, name, input, ...(kept && { providerData: kept }) }
}

function repairInput(input: unknown, of: BlockContext): Record<string, unknown> {
  if (!isRecord(input)) return of.report('malformed-input', 'it is not an object') ?? {}
  const flaw = flawOf(input)
  if (flaw === 'too deep' || flaw === 'no number') return of.report('malformed-input', flaw) ?? {}
  if (isCleanJson(input)) return input
  of.report('malformed-input', badText)
  return cleanedJson(input)
}

function repairOutput(output: ToolOutput, of: BlockContext): ToolOutput {
  if (typeof output === 'string') return repairString(output, of)
  if (!Array.isArray(output)) return of.report('malformed-result') ?? ''
  const parts = output.flatMap((part) => {
    if (part?.type === 'image') return [repairImage(part, of.rules, of.report)]
    if (part?.type === 'document') return [repairDocument(part, of.rules, of.report)]
    if (part?.type !== 'text' || typeof part.text !== 'string') return of.report('malformed-result') ?? []
    if (part.text.trim() === '') return of.report('empty-text') ?? []
    const text = repairString(part.text, of)
    return [text === part.text ? part : { ...part, text }]
  })
  const isSame = parts.length === output.length && parts.every((part, i) => part === output[i])
  return isSame ? output : parts
}

function repairString(text: string, of: BlockContext): string {
  if (isClean(text)) return text
  of.report('malformed-text', badText)
  return cleaned(text)
}

const badText = 'half a character, or NUL'
