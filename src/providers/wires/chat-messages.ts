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
import { dataUrl, mediaOf, ownOf } from './payload.ts'

/** What Anthropic calls a place up to which a prompt is cached. */
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

/** Plain text, never parts: models imitate the structure they see. */
export function writeAssistant(content: Content, quirks: ChatQuirks): readonly WireItem[] {
  const said: number[] = []
  const called: number[] = []
  const calls: object[] = []
  let text = ''
  for (const [i, block] of content.entries()) {
    if (block.type === 'text' && block.text !== '') {
      text += said.length > 0 ? `\n\n${block.text}` : block.text
      said.push(i)
    } else if (block.type === 'tool_call') {
      const { id, name, input } = block
      const extra = ownOf<Own>(wireName, block).bound?.extra_content
      const asked = { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
      calls.push(extra === undefined ? asked : { ...asked, extra_content: extra })
      called.push(i)
    }
  }
  if (said.length === 0 && calls.length === 0) return []
  const json = {
    role: 'assistant',
    ...(text === '' ? noContent[quirks.emptyContent ?? 'null'] : { content: text }),
    ...writeReasoning(content, quirks),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  return [{ json, blocks: said.length > 0 ? said.slice(0, 1) : called }]
}

const noContent = { null: { content: null }, empty: { content: '' }, omit: {} } as const

/** What the decoder keeps with a block. */
interface Own {
  readonly field?: string
  readonly bound?: { readonly details?: readonly object[]; readonly extra_content?: unknown }
}

function writeReasoning(content: Content, { reasoningReplay: replay = 'none' }: ChatQuirks): Fields {
  if (replay === 'none') return {}
  const thoughts = content.filter((block) => block.type === 'thinking')
  const owned = thoughts.map((block) => ownOf<Own>(wireName, block))
  const details = owned.flatMap((own) => own.bound?.details ?? [])
  if (replay === 'details' && details.length > 0) return { reasoning_details: details }
  const text = thoughts.map((thought) => thought.text).join('')
  if (replay === 'required') return { reasoning_content: text }
  if (text === '') return {}
  return { [replay === 'details' ? 'reasoning' : (owned[0]?.field ?? 'reasoning_content')]: text }
}

/** Results first, for they must follow their calls; then what else there is, in one message. */
export function writeUser(content: Content, quirks: ChatQuirks): readonly WireItem[] {
  const results: WireItem[] = []
  const parts: Part[] = []
  const blocks: number[] = []
  const add = (i: number, ...more: readonly Part[]): void => {
    parts.push(...more)
    blocks.push(...more.map(() => i))
  }
  for (const [i, block] of content.entries()) {
    if (block.type !== 'tool_result') continue
    const media = mediaOf(block)
    const isWhole = quirks.imageInToolResult && media.some(({ type }) => type === 'image')
    results.push({ json: isWhole ? writeWholeResult(block) : writeResult(block), blocks: [i] })
    const below = isWhole ? media.filter(({ type }) => type !== 'image') : media
    if (below.length > 0) add(i, writeText(`From the result of call ${block.callId}:`), ...below.map(writeMedia))
  }
  for (const [i, block] of content.entries()) {
    if (block.type === 'text' && block.text !== '') add(i, writeText(block.text))
    else if (block.type === 'image') add(i, writeImage(block))
    else if (block.type === 'document') add(i, writeDocument(block))
  }
  if (parts.length === 0) return results
  const [first] = parts
  const said = parts.length === 1 && first?.type === 'text' ? first.text : parts
  const user = { json: { role: 'user', content: said }, blocks }
  const needsBridge = results.length > 0 && quirks.assistantAfterTool
  return needsBridge ? [...results, bridge, user] : [...results, user]
}

const bridge: WireItem = { json: { role: 'assistant', content: 'I have seen the results.' }, blocks: [] }

/** Most services take no images here: they follow after all results. */
function writeResult({ callId, output, name }: ToolResultBlock & { readonly name?: string }): object {
  const texts =
    typeof output === 'string' ? [output] : output.map((part) => (part.type === 'text' ? part.text : later(part)))
  return { role: 'tool', tool_call_id: callId, ...(name !== undefined && { name }), content: texts.join('\n') }
}

/** With its images, for the few services that take them here. */
function writeWholeResult({ callId, output, name }: ToolResultBlock & { readonly name?: string }): object {
  const parts = typeof output === 'string' ? [writeText(output)] : output.map(writePart)
  return { role: 'tool', tool_call_id: callId, ...(name !== undefined && { name }), content: parts }
}

function writePart(part: ToolResultContent): Part {
  if (part.type === 'text') return writeText(part.text)
  return part.type === 'image' ? writeImage(part) : writeText(later(part))
}

const later = ({ type }: ImageBlock | DocumentBlock): string => `[${type}: see the user message after the results]`

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

/** Only text can carry the mark, and what the assistant said must stay plain: what comes before them does. */
export function withBreakpoint(items: readonly WireItem[]): readonly WireItem[] {
  for (let i = items.length - 1; i >= 0; i--) {
    const { json, blocks } = items[i]!
    const { role, content } = json as { role: string; content?: string | null | readonly Part[] }
    if (role === 'assistant' || !content) continue
    const parts: readonly Part[] = typeof content === 'string' ? [writeText(content)] : content
    const at = parts.findLastIndex((part) => part.type === 'text' && part.text !== '')
    if (at < 0) continue
    const marked = parts.with(at, { ...parts[at]!, ...breakpoint })
    return items.with(i, { json: { ...json, content: marked }, blocks })
  }
  return items
}
