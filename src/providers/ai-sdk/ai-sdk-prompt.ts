import { memoize } from '../../core/memoize.ts'
import { Pairs } from '../../core/pairing.ts'
import { flawOf, wellFormed, wellFormedJson } from '../../core/plain-json.ts'
import type {
  DocumentBlock,
  ImageBlock,
  Message,
  ProviderData,
  SessionContentBlock,
  SessionTurn,
  ToolCallBlock,
  ToolResultBlock,
  ToolResultContent,
} from '../../core/turn.ts'

/** The model that a prompt is written for. */
export interface PromptTarget {
  readonly version: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly model: string
  readonly imageInToolResult: boolean
}

export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | readonly PromptPart[]
  readonly providerOptions?: ProviderData
}

export type PromptPart = { readonly type: string } & ProviderData

/** What is stored under `providerData['ai-sdk']`: the metadata of a part, or a whole part that has no block type. */
export interface StoredPart {
  /** `originOf` the model that wrote it; a message that a decorator made may lack its provider. */
  readonly from?: string
  readonly providerMetadata?: ProviderData
  readonly part?: ProviderData
}

export const originOf = ({ provider, model }: Pick<PromptTarget, 'provider' | 'model'>): string =>
  `${provider}/${model}`

/** Writes conversations as prompts. For a list that has grown, only the new messages are written. */
export function promptWriter(target: PromptTarget): (messages: readonly Message[]) => readonly PromptMessage[] {
  const lists = new WeakMap<readonly Message[], PromptList>()
  const assistant = memoize((message: Message) => writeAssistant(message, target))
  // Results do not name their tool, so they depend on the calls before them.
  const userAfter = memoize((calls: Calls) => memoize((message: Message) => writeUser(message, calls, target)))

  function write(list: PromptList, message: Message): void {
    if (message.role === 'assistant') {
      const { written, calls } = assistant(message)
      list.prompt.push(...written)
      list.calls = calls
    } else list.prompt.push(...userAfter(list.calls)(message))
  }

  return (messages) => {
    let list = lists.get(messages)
    if (!list || list.count > messages.length)
      lists.set(messages, (list = { count: 0, written: 0, pairs: new Pairs(), prompt: [], calls: noCalls }))
    const { pairs } = list
    for (; list.count < messages.length; list.count++) pairs.add(messages[list.count]!)
    for (; list.written < pairs.messages.length; list.written++) write(list, pairs.messages[list.written]!)
    const last = pairs.messages.at(-1)
    return last?.role === 'assistant' ? [...list.prompt, ...answersTo(last, list.calls)] : [...list.prompt]
  }

  /** Calls at the end are answered in a copy only, because their results may still come. */
  function answersTo(last: Message, calls: Calls): readonly PromptMessage[] {
    const pairs = new Pairs()
    pairs.add(last)
    pairs.close()
    return pairs.messages.slice(1).flatMap((message) => writeUser(message, calls, target))
  }
}

interface PromptList {
  /** How many messages were read, and how many paired messages were written. */
  count: number
  written: number
  readonly pairs: Pairs
  readonly prompt: PromptMessage[]
  /** The calls of the last assistant message. */
  calls: Calls
}

/** The calls of a message as they were written, by their ids in the session. */
type Calls = ReadonlyMap<string, PromptPart>

const noCalls: Calls = new Map()

function writeAssistant(message: Message, target: PromptTarget): { written: readonly PromptMessage[]; calls: Calls } {
  const calls = new Map<string, PromptPart>()
  const content: PromptPart[] = []
  for (const block of message.content) {
    const part = assistantPart(block, storedWith(block, message, target), target)
    if (!part) continue
    content.push(part)
    if (block.type === 'tool_call') calls.set(block.id, part)
  }
  return { written: content.length > 0 ? [{ role: 'assistant', content }] : [], calls }
}

/** The data stored with a block; `null` if another model wrote it. */
function storedWith(
  block: SessionContentBlock,
  message: Message & Partial<SessionTurn>,
  target: PromptTarget,
): StoredPart | null {
  const { provider = target.provider, model = target.model } = message
  if (provider !== target.provider || model !== target.model) return null
  const data = 'providerData' in block ? block.providerData : undefined
  if (!data) return 'signature' in block ? null : {}
  const stored = data['ai-sdk'] as StoredPart | null | undefined
  if (typeof stored !== 'object' || stored === null) return null
  return stored.from === undefined || stored.from === originOf(target) ? stored : null
}

function assistantPart(
  block: SessionContentBlock,
  stored: StoredPart | null,
  { version }: PromptTarget,
): PromptPart | undefined {
  switch (block.type) {
    case 'text':
      if (stored?.part) return ownPart(stored.part, version)
      return textPart('text', block.text, stored)
    case 'thinking': {
      // Changing a signed text would make the signature wrong.
      const isBroken = stored?.providerMetadata !== undefined && !block.text.isWellFormed()
      return stored === null || isBroken ? undefined : textPart('reasoning', block.text, stored)
    }
    case 'tool_call':
      return callPart(block, stored)
    case 'image':
    case 'document':
      return filePart(block, version)
    default:
      return undefined
  }
}

/** Services refuse empty text, unless it carries their own data. */
function textPart(type: 'text' | 'reasoning', text: string, stored: StoredPart | null): PromptPart | undefined {
  const options = optionsOf(stored?.providerMetadata)
  if (text.trim() === '' && !options) return undefined
  return { type, text: wellFormed(text), ...options }
}

/** In the AI SDK, metadata of a reply is sent back as options. */
const optionsOf = (metadata: unknown): { providerOptions: ProviderData } | undefined =>
  typeof metadata === 'object' && metadata !== null ? { providerOptions: metadata as ProviderData } : undefined

/** Calls and results of the provider's own tools, and custom parts, if the version supports them. */
function ownPart(part: ProviderData, version: PromptTarget['version']): PromptPart | undefined {
  const { toolCallId, toolName } = part
  const options = optionsOf(part.providerMetadata)
  switch (part.type) {
    case 'tool-call':
      return { type: part.type, toolCallId, toolName, input: parsed(part.input), providerExecuted: true, ...options }
    case 'tool-result':
      return { type: part.type, toolCallId, toolName, output: ownOutput(part), ...options }
    case 'custom':
      return version === 'v4' ? { type: part.type, kind: part.kind, ...options } : undefined
    default:
      return undefined
  }
}

function parsed(input: unknown): unknown {
  if (typeof input !== 'string') return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}

function ownOutput({ result = null, isError }: ProviderData): object {
  if (isError) return { type: 'error-json', value: result }
  return { type: typeof result === 'string' ? 'text' : 'json', value: result }
}

function callPart(block: ToolCallBlock, stored: StoredPart | null): PromptPart {
  const flaw = flawOf(block.input)
  const repaired = flaw === 'malformed text' ? wellFormedJson(block.input) : {}
  return {
    type: 'tool-call',
    toolCallId: stored ? block.id : safeId(block.id),
    toolName: wellFormed(block.name) || 'unknown',
    input: flaw ? repaired : block.input,
    ...optionsOf(stored?.providerMetadata),
  }
}

/** Some services refuse the call ids of others. The end of an id is stored, because it is what differs. */
const safeId = (id: string): string => id.replaceAll(/[^\w-]/g, '_').slice(-40) || 'call'

/** Results go first, because they must follow their calls directly. */
function writeUser({ content }: Message, calls: Calls, target: PromptTarget): readonly PromptMessage[] {
  const results: PromptPart[] = []
  const resultMedia: PromptPart[] = []
  const userParts: PromptPart[] = []
  for (const block of content) {
    const call = block.type === 'tool_result' ? calls.get(block.callId) : undefined
    if (block.type === 'tool_result' && call) results.push(resultPart(block, call, target, resultMedia))
    else if (block.type === 'text') userParts.push(...textParts(block.text))
    else if (block.type === 'image' || block.type === 'document') userParts.push(filePart(block, target.version))
  }
  const parts = [...resultMedia, ...userParts]
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(parts.length > 0 ? [{ role: 'user' as const, content: parts }] : []),
  ]
}

const textParts = (text: string): readonly PromptPart[] =>
  text.trim() === '' ? [] : [{ type: 'text', text: wellFormed(text) }]

/** Packages read the options of a call from its result too, so these are sent with it. */
function resultPart(
  block: ToolResultBlock,
  { toolCallId, toolName, providerOptions }: PromptPart,
  target: PromptTarget,
  resultMedia: PromptPart[],
): PromptPart {
  const output = outputOf(block, String(toolName), target, resultMedia)
  return { type: 'tool-result', toolCallId, toolName, output, ...optionsOf(providerOptions) }
}

/** Images that a result cannot hold follow in a user message; a failed result is always text. */
function outputOf(
  { output, isError = false }: ToolResultBlock,
  toolName: string,
  { version, imageInToolResult }: PromptTarget,
  resultMedia: PromptPart[],
): object {
  const type = isError ? 'error-text' : 'text'
  if (typeof output === 'string') return { type, value: wellFormed(output) }
  const staysInside = (part: ToolResultContent): part is ImageBlock =>
    part.type === 'image' && imageInToolResult && !isError
  const following = output.filter((part) => part.type !== 'text' && !staysInside(part))
  if (following.length > 0)
    resultMedia.push(
      { type: 'text', text: `From the result of ${toolName}:` },
      ...following.map((part) => filePart(part as ImageBlock | DocumentBlock, version)),
    )
  const textOf = (part: ToolResultContent): string => (part.type === 'text' ? part.text : `[${part.type}: see below]`)
  if (!output.some(staysInside)) return { type, value: output.map((part) => wellFormed(textOf(part))).join('\n') }
  const value = output.flatMap((part) => (staysInside(part) ? [inlineImage(part, version)] : textParts(textOf(part))))
  return { type: 'content', value }
}

function inlineImage({ mediaType, data }: ImageBlock, version: PromptTarget['version']): PromptPart {
  if (version === 'v4') return { type: 'file', mediaType, data: { type: 'data', data } }
  return { type: version === 'v3' ? 'image-data' : 'media', mediaType, data }
}

function filePart(block: ImageBlock | DocumentBlock, version: PromptTarget['version']): PromptPart {
  const { mediaType, data } = block
  const name = block.type === 'document' ? block.name : undefined
  const text = block.type === 'document' ? textOfDocument(block) : undefined
  if (text !== undefined) return { type: 'text', text: name === undefined ? text : `${name}:\n${text}` }
  const file = version === 'v4' ? { type: 'data', data } : data
  return { type: 'file', mediaType, data: file, ...(name !== undefined && { filename: name }) }
}

/** Packages throw on unknown media types, so documents of text are written as text. */
function textOfDocument({ mediaType, data }: DocumentBlock): string | undefined {
  if (!/^text\/|[/+](json|xml|yaml)$/.test(mediaType)) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (char) => char.charCodeAt(0)))
  } catch {
    return undefined // not base64: the service will refuse it
  }
}
