import type { PromptPart, SessionContentBlock } from '../core/turn.ts'
import type { AgentInstanceMessage, AttachedFile, AttachedTiddler, UserContent } from './message.ts'

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
