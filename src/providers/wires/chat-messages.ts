import type {
  DocumentBlock,
  ImageBlock,
  SessionContentBlock,
  ToolResultBlock,
  ToolResultContent,
} from '../../core/turn.ts'
import type { Fields, WireItem } from '../wire.ts'
import { wireName } from './chat-decoder.ts'
import type { ChatQuirks } from './openai-chat.ts'
import { dataUrl, mediaOf, providerDataOf } from './payload.ts'

/** Anthropic's field for a cache breakpoint. */
export const breakpoint = { cache_control: { type: 'ephemeral' } } as const

/** The system prompt as the first message. */
export function writeSystem(
  system: string,
  { systemRole = 'system', cacheBreakpoints }: ChatQuirks,
  cache: boolean,
): object {
  if (!cache || !cacheBreakpoints) return { role: systemRole, content: system }
  return { role: systemRole, content: [{ type: 'text', text: system, ...breakpoint }] }
}

type Content = readonly SessionContentBlock[]

/** Writes plain text, never parts, because models imitate the structure that they see. */
export function writeAssistant(content: Content, quirks: ChatQuirks): readonly WireItem[] {
  const textBlocks: number[] = []
  const callBlocks: number[] = []
  const calls: object[] = []
  let text = ''
  for (const [i, block] of content.entries()) {
    if (block.type === 'text' && block.text !== '') {
      text += textBlocks.length > 0 ? `\n\n${block.text}` : block.text
      textBlocks.push(i)
    } else if (block.type === 'tool_call') {
      const { id, name, input } = block
      const extra = providerDataOf<StoredData>(wireName, block).bound?.extra_content
      const call = { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
      calls.push(extra === undefined ? call : { ...call, extra_content: extra })
      callBlocks.push(i)
    }
  }
  if (textBlocks.length === 0 && calls.length === 0) return []
  const json = {
    role: 'assistant',
    ...(text === '' ? noContent[quirks.emptyContent ?? 'null'] : { content: text }),
    ...writeReasoning(content, quirks),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  // All text blocks become one text on the wire. A cache breakpoint of the first of them applies to it.
  return [{ json, blockIndexes: textBlocks.length > 0 ? textBlocks.slice(0, 1) : callBlocks }]
}

const noContent = { null: { content: null }, empty: { content: '' }, omit: {} } as const

/** What the decoder stores with a block. */
interface StoredData {
  readonly field?: string
  /** Signed by the service: valid only for the model that wrote it. */
  readonly bound?: { readonly details?: readonly object[]; readonly extra_content?: unknown }
}

function writeReasoning(content: Content, { reasoningReplay: replay = 'none' }: ChatQuirks): Fields {
  if (replay === 'none') return {}
  const thoughts = content.filter((block) => block.type === 'thinking')
  const stored = thoughts.map((block) => providerDataOf<StoredData>(wireName, block))
  const details = stored.flatMap((data) => data.bound?.details ?? [])
  if (replay === 'details' && details.length > 0) return { reasoning_details: details }
  const text = thoughts.map((thought) => thought.text).join('')
  if (replay === 'required') return { reasoning_content: text }
  if (text === '') return {}
  return { [replay === 'details' ? 'reasoning' : (stored[0]?.field ?? 'reasoning_content')]: text }
}

/** Results come first, because they must follow their calls; everything else follows in one message. */
export function writeUser(content: Content, quirks: ChatQuirks): readonly WireItem[] {
  const results: WireItem[] = []
  const parts: Part[] = []
  const blockIndexes: number[] = []
  const add = (i: number, ...added: readonly Part[]): void => {
    parts.push(...added)
    blockIndexes.push(...added.map(() => i))
  }
  for (const [i, block] of content.entries()) {
    if (block.type !== 'tool_result') continue
    const media = mediaOf(block)
    const keepsImages = quirks.imageInToolResult && media.some(({ type }) => type === 'image')
    results.push({ json: keepsImages ? writeResultWithImages(block) : writeResult(block), blockIndexes: [i] })
    const following = keepsImages ? media.filter(({ type }) => type !== 'image') : media
    if (following.length > 0)
      add(i, writeText(`From the result of call ${block.callId}:`), ...following.map(writeMedia))
  }
  for (const [i, block] of content.entries()) {
    if (block.type === 'text' && block.text !== '') add(i, writeText(block.text))
    else if (block.type === 'image') add(i, writeImage(block))
    else if (block.type === 'document') add(i, writeDocument(block))
  }
  if (parts.length === 0) return results
  const [first] = parts
  const userContent = parts.length === 1 && first?.type === 'text' ? first.text : parts
  const user = { json: { role: 'user', content: userContent }, blockIndexes }
  const needsAssistant = results.length > 0 && quirks.assistantAfterTool
  return needsAssistant ? [...results, assistantBetween, user] : [...results, user]
}

const assistantBetween: WireItem = {
  json: { role: 'assistant', content: 'I have seen the results.' },
  blockIndexes: [],
}

/** Most services accept no images in results: they follow after all results. */
function writeResult({ callId, output, name }: ToolResultBlock & { readonly name?: string }): object {
  const texts =
    typeof output === 'string'
      ? [output]
      : output.map((part) => (part.type === 'text' ? part.text : followsBelow(part)))
  return { role: 'tool', tool_call_id: callId, ...(name !== undefined && { name }), content: texts.join('\n') }
}

/** For the few services that accept images in results. */
function writeResultWithImages({ callId, output, name }: ToolResultBlock & { readonly name?: string }): object {
  const parts = typeof output === 'string' ? [writeText(output)] : output.map(writePart)
  return { role: 'tool', tool_call_id: callId, ...(name !== undefined && { name }), content: parts }
}

function writePart(part: ToolResultContent): Part {
  if (part.type === 'text') return writeText(part.text)
  return part.type === 'image' ? writeImage(part) : writeText(followsBelow(part))
}

const followsBelow = ({ type }: ImageBlock | DocumentBlock): string =>
  `[${type}: see the user message after the results]`

type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
  | { readonly type: 'file'; readonly file: { readonly filename: string; readonly file_data: string } }

const writeText = (text: string): Part => ({ type: 'text', text })

const writeImage = (image: ImageBlock): Part => ({ type: 'image_url', image_url: { url: dataUrl(image) } })

const writeDocument = (document: DocumentBlock): Part => ({
  type: 'file',
  file: { filename: document.name ?? 'document.pdf', file_data: dataUrl(document) },
})

const writeMedia = (block: ImageBlock | DocumentBlock): Part =>
  block.type === 'image' ? writeImage(block) : writeDocument(block)

/** Only a text part can carry a breakpoint, and assistant messages have no parts: the last text of another message gets it. */
export function withBreakpoint(items: readonly WireItem[]): readonly WireItem[] {
  for (let i = items.length - 1; i >= 0; i--) {
    const { json, blockIndexes } = items[i]!
    const { role, content } = json as { role: string; content?: string | null | readonly Part[] }
    if (role === 'assistant' || !content) continue
    const parts: readonly Part[] = typeof content === 'string' ? [writeText(content)] : content
    const at = parts.findLastIndex((part) => part.type === 'text' && part.text !== '')
    if (at < 0) continue
    const marked = parts.with(at, { ...parts[at]!, ...breakpoint })
    return items.with(i, { json: { ...json, content: marked }, blockIndexes })
  }
  return items
}
