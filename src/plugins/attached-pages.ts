import { messageOf } from '../core/errors.ts'
import type { AttachedTiddler } from './message.ts'
import type { KnowledgeStore } from './wiki/knowledge-store.ts'
import { fenced, line, partOf, visiblePage } from './wiki/tools/page-text.ts'

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
