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
import { fitDocument, fitImage, leftOut } from './media-rules.ts'

/** Whom a conversation is sent to: what others said about themselves is not passed on. */
export interface Recipient {
  readonly provider: string
  readonly model: string
  /** The key of what belongs to this wire in `providerData`. */
  readonly wire: string
  /** A tool's name as the service takes it. */
  toWire(tool: string): string
}

/** A rule that was applied to a block. */
export interface BlockRepair {
  readonly rule: string
  readonly block: number
  readonly detail?: string
}

export interface FittedMessage {
  /** The very same message where nothing had to be mended. */
  readonly message: Message
  /** For each block of it, the index of the block it was made of. */
  readonly blocks: readonly number[]
  readonly repairs: readonly BlockRepair[]
}

/** What may be said of one message by itself: each block is fit to be sent, or is not there. */
export function fitMessage(message: Message, rules: WireRules, recipient: Recipient): FittedMessage {
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
    const fitted = fitBlock(block, { role, rules, recipient, origin, told: (...about) => tell(from, ...about) })
    if (fitted) kept.push({ block: fitted, from })
  }
  if (role === 'assistant') kept = callsLast(withoutLastThought(kept, tell), origin, recipient, tell)

  const blocks = kept.map(({ from }) => from)
  const isSame = kept.length === message.content?.length && kept.every(({ block }, i) => block === given[i])
  if (isSame && role === message.role) return { message, blocks, repairs }
  return { message: { ...message, role, content: kept.map(({ block }) => block) }, blocks, repairs }
}

interface Kept {
  readonly block: SessionContentBlock
  readonly from: number
}

type TellBlock = (block: number, rule: string, detail?: string) => void

/** Thinking that led to nothing, because the reply ended there, is refused and of no use. */
function withoutLastThought(kept: Kept[], tell: TellBlock): Kept[] {
  const length = kept.findLastIndex(({ block }) => block.type !== 'thinking') + 1
  for (const { from } of kept.slice(length)) tell(from, 'thinking-last')
  return length === kept.length ? kept : kept.slice(0, length)
}

/** Some services refuse anything after a call. What a service itself said it takes back in the order it came in. */
function callsLast(kept: Kept[], origin: Origin, { wire }: Recipient, tell: TellBlock): Kept[] {
  const first = kept.findIndex(isCall)
  const late = first < 0 ? undefined : kept.slice(first).find((one) => !isCall(one))
  const isForeign =
    origin === 'other provider' || (origin === 'unknown' && !kept.some(({ block }) => ownData(block, wire)))
  if (!late || !isForeign) return kept
  tell(late.from, 'calls-last')
  return [...kept.filter((one) => !isCall(one)), ...kept.filter(isCall)]
}

const isCall = ({ block }: Kept): boolean => block.type === 'tool_call'

const ownData = (block: SessionContentBlock, wire: string): unknown =>
  'providerData' in block ? block.providerData?.[wire] : undefined

interface Case {
  readonly role: Message['role']
  readonly rules: WireRules
  readonly recipient: Recipient
  readonly origin: Origin
  told(rule: string, detail?: string): undefined
}

/** Who said it; what nobody signed is taken for ours until the service says otherwise. */
type Origin = 'ours' | 'unknown' | 'other model' | 'other provider'

function originOf(message: Message & Partial<SessionTurn>, recipient: Recipient): Origin {
  const { provider, model } = message
  if (provider === undefined && model === undefined) return 'unknown'
  if (provider !== undefined && provider !== recipient.provider) return 'other provider'
  return model === undefined || model === recipient.model ? 'ours' : 'other model'
}

function fitBlock(block: SessionContentBlock, of: Case): SessionContentBlock | undefined {
  switch (block?.type) {
    case 'text':
      return fitText(block, of)
    case 'thinking':
      return of.role === 'assistant' ? fitThinking(block, of) : of.told('wrong-role', 'thinking in a user message')
    case 'image':
      if (of.role === 'assistant' && !of.rules.assistantImages)
        return leftOut(block, 'assistant-image', 'the assistant made it', of.told)
      return fitImage(block, of.rules, of.told)
    case 'document':
      if (of.role === 'assistant') return leftOut(block, 'assistant-document', 'the assistant made it', of.told)
      return fitDocument(block, of.rules, of.told)
    case 'tool_call':
      return of.role === 'assistant' ? fitCall(block, of) : of.told('wrong-role', 'a tool call in a user message')
    case 'tool_result': {
      if (of.role !== 'user') return of.told('wrong-role', 'a tool result in an assistant message')
      const output = fitOutput(block.output, of)
      return output === block.output ? block : { ...block, output }
    }
    default:
      return of.told('unknown-block', cleaned(String((block as { type?: unknown } | null)?.type)))
  }
}

function fitText(block: TextBlock, of: Case): TextBlock | undefined {
  if (typeof block.text !== 'string') return of.told('malformed-block')
  const kept = keptData(block.providerData, of)
  const isRaw = isOpaque(kept, of.recipient.wire)
  if (!isRaw && block.text.trim() === '')
    return of.told(block.text === '' && block.providerData ? 'foreign-block' : 'empty-text')
  const text = fitString(block.text, of)
  if (text === block.text && kept === block.providerData) return block
  return { type: 'text', text, ...(kept && { providerData: kept }) }
}

/** A block of the service's own kind travels whole inside `providerData`, as `block`. */
function isOpaque(data: ProviderData | undefined, wire: string): boolean {
  const own = data?.[wire]
  return isRecord(own) && isRecord(own.block)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is `bound` to a model is of no use to another; what belongs to another provider is not passed on at all. */
function keptData(data: ProviderData | undefined, of: Case): ProviderData | undefined {
  const { origin, recipient } = of
  const own = data?.[recipient.wire]
  if (!data || own === undefined) return origin === 'ours' || origin === 'unknown' ? data : undefined
  if (origin === 'other provider') return undefined
  if (!isRecord(own) || flawOf(own) === 'too deep') return of.told('malformed-data')
  const clean = isCleanJson(own) ? own : cleanedData(own, of)
  if (origin !== 'other model') return clean === own ? data : { [recipient.wire]: clean }
  const { bound: _, ...kept } = clean
  return Object.keys(kept).length > 0 ? { [recipient.wire]: kept } : undefined
}

function cleanedData(own: Record<string, unknown>, of: Case): Record<string, unknown> {
  of.told('malformed-data', badText)
  return cleanedJson(own)
}

function fitThinking(block: ThinkingBlock, of: Case): ThinkingBlock | undefined {
  const { text, signature, providerData } = block
  if (typeof text !== 'string') return of.told('malformed-block')
  const own = providerData?.[of.recipient.wire]
  const isSigned = (typeof signature === 'string' && signature !== '') || own !== undefined
  if (!isSigned && text.trim() === '') return undefined // nothing was thought
  if (of.origin === 'other model' || of.origin === 'other provider')
    return of.told('foreign-thinking', 'it belongs to another model')
  if (of.rules.signedThinkingOnly && !isSigned) return of.told('unsigned-thinking')
  if (isClean(text) && isClean(signature ?? '') && isCleanJson(own)) return block
  // Mending it would make the signature wrong.
  return isSigned ? of.told('malformed-text', badText) : { ...block, text: fitString(text, of) }
}

function fitCall(block: ToolCallBlock, of: Case): ToolCallBlock {
  const { providerData, ...call } = block
  const kept = keptData(providerData, of)
  const input = fitInput(call.input, of)
  const called = typeof call.name === 'string' ? cleaned(call.name) : ''
  const name = of.recipient.toWire(called === '' ? 'unknown' : called)
  if (name !== call.name) of.told('tool-name', `it goes out as ${name}`)
  if (input === call.input && name === call.name && kept === providerData) return block
  return { ...call, name, input, ...(kept && { providerData: kept }) }
}

function fitInput(input: unknown, of: Case): Record<string, unknown> {
  if (!isRecord(input)) return of.told('malformed-input', 'it is no object') ?? {}
  const flaw = flawOf(input)
  if (flaw === 'too deep' || flaw === 'no number') return of.told('malformed-input', flaw) ?? {}
  if (isCleanJson(input)) return input
  of.told('malformed-input', badText)
  return cleanedJson(input)
}

function fitOutput(output: ToolOutput, of: Case): ToolOutput {
  if (typeof output === 'string') return fitString(output, of)
  if (!Array.isArray(output)) return of.told('malformed-result') ?? ''
  const parts = output.flatMap((part) => {
    if (part?.type === 'image') return [fitImage(part, of.rules, of.told)]
    if (part?.type === 'document') return [fitDocument(part, of.rules, of.told)]
    if (part?.type !== 'text' || typeof part.text !== 'string') return of.told('malformed-result') ?? []
    if (part.text.trim() === '') return of.told('empty-text') ?? []
    const text = fitString(part.text, of)
    return [text === part.text ? part : { ...part, text }]
  })
  const isSame = parts.length === output.length && parts.every((part, i) => part === output[i])
  return isSame ? output : parts
}

function fitString(text: string, of: Case): string {
  if (isClean(text)) return text
  of.told('malformed-text', badText)
  return cleaned(text)
}

const badText = 'half a character, or NUL'
