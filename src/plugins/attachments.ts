import type { PromptPart, SessionContentBlock } from '../core/turn.ts'
import type { AttachedFile, AttachedTiddler, UserContent } from './message.ts'

/** A message with what comes with it, as a model gets it: the words first, then pages, then the file. */
export function contentOf({ text, file }: UserContent, pages: readonly AttachedPage[] = []): PromptPart[] {
  return [
    { type: 'text', text },
    ...pages.map(({ workspaceName, tiddlerTitle, text: page }): PromptPart => {
      const head = JSON.stringify({ workspaceName, tiddlerTitle })
      return { type: 'text', text: `${mark}${head}\n${page}` }
    }),
    ...(file ? [filePart(file)] : []),
  ]
}

/** A page with what it says. */
export interface AttachedPage extends AttachedTiddler {
  readonly text: string
}

/** Which parts of a message were its words, and what came with it. */
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

const mark = 'Attached wiki page '

function pageIn(text: string): AttachedTiddler | undefined {
  if (!text.startsWith(mark)) return undefined
  try {
    const { workspaceName, tiddlerTitle } = JSON.parse(text.slice(mark.length, text.indexOf('\n'))) as AttachedTiddler
    return typeof tiddlerTitle === 'string' ? { workspaceName: String(workspaceName), tiddlerTitle } : undefined
  } catch {
    return undefined // somebody's own words
  }
}

function filePart({ mediaType, data, name }: AttachedFile): PromptPart {
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data }
  return { type: 'document', mediaType, data, ...(name !== undefined && { name }) }
}
