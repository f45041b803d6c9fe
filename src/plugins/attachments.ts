import { show } from '../core/behavior.ts'
import { messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import type { PromptPart, SessionContentBlock } from '../core/turn.ts'
import type { AgentInstanceMessage, AttachedFile, AttachedTiddler, UserContent } from './message.ts'
import type { KnowledgeStore } from './wiki/knowledge-store.ts'
import { fenced, line, partOf, visiblePage } from './wiki/tools/page-text.ts'

/** The content of a message for the model: its text, then attached pages, then the file. */
export function messageContent({ text, file }: UserContent, pages: readonly AttachedPage[] = []): PromptPart[] {
  return [
    { type: 'text', text },
    ...pages.map(({ workspaceName, tiddlerTitle, text: page }): PromptPart => {
      const head = JSON.stringify({ workspaceName, tiddlerTitle })
      return { type: 'text', text: `${mark}${head}\n${page}` }
    }),
    ...(file ? [filePart(file)] : []),
  ]
}

/** Throws on a file that no service would accept, before the message is logged. */
export function checkFile(file: unknown, where: string): void {
  if (!isRecord(file))
    throw new TypeError(`${where}: a file is { mediaType, data, name? }, data in base64, got ${show(file)}`)
  const { mediaType, data, name } = file
  if (typeof mediaType !== 'string' || !/^[\w.+-]+\/[\w.+-]+$/.test(mediaType))
    throw new TypeError(`${where}: file.mediaType must be a media type such as "image/png", got ${show(mediaType)}`)
  if (typeof data !== 'string' || !isBase64(data))
    throw new TypeError(`${where}: file.data must be base64, without "data:…," before it, got ${show(data)}`)
  if (name !== undefined && typeof name !== 'string')
    throw new TypeError(`${where}: file.name must be a text, got ${show(name)}`)
}

const isBase64 = (data: string): boolean => data !== '' && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

interface AttachedPage extends AttachedTiddler {
  readonly text: string
}

/** Splits the content of a message into its text and its attachments. */
export function readAttachments(content: readonly SessionContentBlock[]): UserContent {
  const texts: string[] = []
  const wikiTiddlers: AttachedTiddler[] = []
  let file: AttachedFile | undefined
  for (const block of content) {
    const page = block.type === 'text' ? pageIn(block.text) : undefined
    if (page) wikiTiddlers.push(page)
    else if (block.type === 'text') texts.push(block.text)
    else if (block.type === 'image') file ??= { mediaType: block.mediaType, data: block.data }
    else if (block.type === 'document') {
      const { mediaType, data, name } = block
      file ??= { mediaType, data, ...(name !== undefined && { name }) }
    }
  }
  return { text: texts.join('\n'), ...(file && { file }), ...(wikiTiddlers.length > 0 && { wikiTiddlers }) }
}

/** The content that a person sent, from the message that shows it. */
export function userContentOf({ content: text, metadata = {} }: AgentInstanceMessage): UserContent {
  const { file, wikiTiddlers } = metadata
  return { text, ...(file && { file }), ...(wikiTiddlers && { wikiTiddlers }) }
}

const mark = 'Attached wiki page '

function pageIn(text: string): AttachedTiddler | undefined {
  if (!text.startsWith(mark)) return undefined
  try {
    const { workspaceName, tiddlerTitle } = JSON.parse(text.slice(mark.length, text.indexOf('\n'))) as AttachedTiddler
    return typeof tiddlerTitle === 'string' ? { workspaceName: String(workspaceName), tiddlerTitle } : undefined
  } catch {
    return undefined // a text that only begins like an attached page
  }
}

function filePart({ mediaType, data, name }: AttachedFile): PromptPart {
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data }
  return { type: 'document', mediaType, data, ...(name !== undefined && { name }) }
}

interface AttachOptions {
  /** Characters of one page. Default 50,000. */
  readonly mostOfPage?: number
  /** Characters of all pages. Default 200,000. */
  readonly most?: number
  /** Default 50. */
  readonly mostPages?: number
  readonly signal?: AbortSignal
}

/** Reads the pages that are attached to a message: each with its text, or with the reason why it has none. */
export async function readAttachedTiddlers(
  store: KnowledgeStore | undefined,
  refs: readonly AttachedTiddler[],
  options: AttachOptions = {},
): Promise<readonly (AttachedTiddler & { readonly text: string })[]> {
  const { mostOfPage = 50_000, most = 200_000, mostPages = 50 } = options
  const pages: (AttachedTiddler & { readonly text: string })[] = []
  let room = most
  for (const ref of refs.slice(0, mostPages)) {
    options.signal?.throwIfAborted()
    const found = room > 0 ? await textOf(store, ref, options) : { problem: full }
    if (typeof found !== 'string') {
      pages.push({ ...ref, text: `(${found.problem})` })
      continue
    }
    const { part, end } = partOf(found, 0, Math.min(mostOfPage, room))
    room -= part.length
    const note = end < found.length ? `\n(the first ${end} of ${found.length} characters; wiki-search can read on)` : ''
    pages.push({ ...ref, text: `${fenced(part)}${note}` })
  }
  return [...pages, ...refs.slice(mostPages).map((ref) => ({ ...ref, text: `(${full})` }))]
}

const full = 'left out: the pages before it fill the room there is; wiki-search can read it'

async function textOf(
  store: KnowledgeStore | undefined,
  { workspaceName, tiddlerTitle }: AttachedTiddler,
  { signal }: AttachOptions,
): Promise<string | { readonly problem: string }> {
  if (!store) return { problem: 'it cannot be read, because there are no wikis here' }
  try {
    const wiki = await store.open(workspaceName)
    const page = await wiki.get(tiddlerTitle, signal ? { signal } : {})
    if (!page) return { problem: 'there is no such page' }
    return visiblePage(page) ?? { problem: `it holds ${line(page.type ?? '', 60)}, not text` }
  } catch (error) {
    signal?.throwIfAborted()
    return { problem: `it cannot be read: ${line(messageOf(error), 500)}` }
  }
}
