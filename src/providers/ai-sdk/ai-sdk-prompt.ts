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

/** Whom a prompt is written for. */
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

/** What is kept under `providerData['ai-sdk']`: the metadata of a part, or a whole part that has no block of its own. */
export interface Kept {
  /** `originOf` the model that said it; what decorators make of a message does not always say. */
  readonly from?: string
  readonly providerMetadata?: ProviderData
  readonly part?: ProviderData
}

export const originOf = ({ provider, model }: Pick<PromptTarget, 'provider' | 'model'>): string =>
  `${provider}/${model}`

/** Writes conversations as prompts. A list that has grown costs what was added to it. */
export function promptWriter(target: PromptTarget): (messages: readonly Message[]) => readonly PromptMessage[] {
  const lists = new WeakMap<readonly Message[], Growing>()
  const assistant = memoize((message: Message) => writeAssistant(message, target))
  // Results do not name their tool, so what they become depends on the calls before them too.
  const userAfter = memoize((calls: Calls) => memoize((message: Message) => writeUser(message, calls, target)))

  function write(list: Growing, message: Message): void {
    if (message.role === 'assistant') {
      const { said, calls } = assistant(message)
      list.prompt.push(...said)
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

  /** More may come, so the calls at the end are answered in the copy only. */
  function answersTo(last: Message, calls: Calls): readonly PromptMessage[] {
    const pairs = new Pairs()
    pairs.add(last)
    pairs.close()
    return pairs.messages.slice(1).flatMap((message) => writeUser(message, calls, target))
  }
}

interface Growing {
  /** How many of the messages were read, and how many of those that became of them were written. */
  count: number
  written: number
  readonly pairs: Pairs
  readonly prompt: PromptMessage[]
  /** Of the last assistant message. */
  calls: Calls
}

/** The calls of a message as they went out, by the ids they have in the session. */
type Calls = ReadonlyMap<string, PromptPart>

const noCalls: Calls = new Map()

function writeAssistant(message: Message, target: PromptTarget): { said: readonly PromptMessage[]; calls: Calls } {
  const calls = new Map<string, PromptPart>()
  const content: PromptPart[] = []
  for (const block of message.content) {
    const part = assistantPart(block, keptWith(block, message, target), target)
    if (!part) continue
    content.push(part)
    if (block.type === 'tool_call') calls.set(block.id, part)
  }
  return { said: content.length > 0 ? [{ role: 'assistant', content }] : [], calls }
}

/** What we stored with a block; `null` when another model said it. */
function keptWith(
  block: SessionContentBlock,
  message: Message & Partial<SessionTurn>,
  target: PromptTarget,
): Kept | null {
  const { provider = target.provider, model = target.model } = message
  if (provider !== target.provider || model !== target.model) return null
  const data = 'providerData' in block ? block.providerData : undefined
  if (!data) return 'signature' in block ? null : {}
  const kept = data['ai-sdk'] as Kept | null | undefined
  if (typeof kept !== 'object' || kept === null) return null
  return kept.from === undefined || kept.from === originOf(target) ? kept : null
}

function assistantPart(
  block: SessionContentBlock,
  kept: Kept | null,
  { version }: PromptTarget,
): PromptPart | undefined {
  switch (block.type) {
    case 'text':
      if (kept?.part) return replayed(kept.part, version)
      return spoken('text', block.text, kept)
    case 'thinking': {
      // Mending a text that was signed would make the signature wrong.
      const isBroken = kept?.providerMetadata !== undefined && !block.text.isWellFormed()
      return kept === null || isBroken ? undefined : spoken('reasoning', block.text, kept)
    }
    case 'tool_call':
      return callPart(block, kept)
    case 'image':
    case 'document':
      return filePart(block, version)
    default:
      return undefined
  }
}

/** Services refuse empty text, unless it carries something of theirs. */
function spoken(type: 'text' | 'reasoning', text: string, kept: Kept | null): PromptPart | undefined {
  const options = optionsOf(kept?.providerMetadata)
  if (text.trim() === '' && !options) return undefined
  return { type, text: wellFormed(text), ...options }
}

/** The round trip of the AI SDK: what came as metadata goes back as options. */
const optionsOf = (metadata: unknown): { providerOptions: ProviderData } | undefined =>
  typeof metadata === 'object' && metadata !== null ? { providerOptions: metadata as ProviderData } : undefined

/** Calls and results of the provider's own tools, and parts of its own kind, where a prompt has a place for them. */
function replayed(part: ProviderData, version: PromptTarget['version']): PromptPart | undefined {
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

function callPart(block: ToolCallBlock, kept: Kept | null): PromptPart {
  const flaw = flawOf(block.input)
  const mended = flaw === 'malformed text' ? wellFormedJson(block.input) : {}
  return {
    type: 'tool-call',
    toolCallId: kept ? block.id : fitId(block.id),
    toolName: wellFormed(block.name) || 'unknown',
    input: flaw ? mended : block.input,
    ...optionsOf(kept?.providerMetadata),
  }
}

/** Some services name calls in ways that others refuse; the end of such a name is what tells it from the others. */
const fitId = (id: string): string => id.replaceAll(/[^\w-]/g, '_').slice(-40) || 'call'

/** Results go first: they must follow their calls at once. */
function writeUser({ content }: Message, calls: Calls, target: PromptTarget): readonly PromptMessage[] {
  const results: PromptPart[] = []
  const companions: PromptPart[] = []
  const said: PromptPart[] = []
  for (const block of content) {
    const call = block.type === 'tool_result' ? calls.get(block.callId) : undefined
    if (block.type === 'tool_result' && call) results.push(resultPart(block, call, target, companions))
    else if (block.type === 'text') said.push(...textParts(block.text))
    else if (block.type === 'image' || block.type === 'document') said.push(filePart(block, target.version))
  }
  const spokenParts = [...companions, ...said]
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(spokenParts.length > 0 ? [{ role: 'user' as const, content: spokenParts }] : []),
  ]
}

const textParts = (text: string): readonly PromptPart[] =>
  text.trim() === '' ? [] : [{ type: 'text', text: wellFormed(text) }]

/** Packages find what belongs to a call in the options of its result too, so these are sent along. */
function resultPart(
  block: ToolResultBlock,
  { toolCallId, toolName, providerOptions }: PromptPart,
  target: PromptTarget,
  companions: PromptPart[],
): PromptPart {
  const output = outputOf(block, String(toolName), target, companions)
  return { type: 'tool-result', toolCallId, toolName, output, ...optionsOf(providerOptions) }
}

/** Images that cannot stand in a result are said by the user after it; one that failed is only ever text. */
function outputOf(
  { output, isError = false }: ToolResultBlock,
  toolName: string,
  { version, imageInToolResult }: PromptTarget,
  companions: PromptPart[],
): object {
  const type = isError ? 'error-text' : 'text'
  if (typeof output === 'string') return { type, value: wellFormed(output) }
  const staysInside = (part: ToolResultContent): part is ImageBlock =>
    part.type === 'image' && imageInToolResult && !isError
  const below = output.filter((part) => part.type !== 'text' && !staysInside(part))
  if (below.length > 0)
    companions.push(
      { type: 'text', text: `From the result of ${toolName}:` },
      ...below.map((part) => filePart(part as ImageBlock | DocumentBlock, version)),
    )
  const said = (part: ToolResultContent): string => (part.type === 'text' ? part.text : `[${part.type}: see below]`)
  if (!output.some(staysInside)) return { type, value: output.map((part) => wellFormed(said(part))).join('\n') }
  const value = output.flatMap((part) => (staysInside(part) ? [inlined(part, version)] : textParts(said(part))))
  return { type: 'content', value }
}

function inlined({ mediaType, data }: ImageBlock, version: PromptTarget['version']): PromptPart {
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

/** Packages throw at media types they do not know, and a text can always be said. */
function textOfDocument({ mediaType, data }: DocumentBlock): string | undefined {
  if (!/^text\/|[/+](json|xml|yaml)$/.test(mediaType)) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (char) => char.charCodeAt(0)))
  } catch {
    return undefined // no base64: for the service to judge
  }
}
