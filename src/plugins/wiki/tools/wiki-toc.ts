import { definePlugin } from '../../plugin.ts'
import type { TagNode } from '../knowledge-store.ts'
import { linesWithin, quoted } from './page-text.ts'
import { type InWorkspace, pageOf, readingTool, within } from './wiki-tool.ts'

interface Input extends InWorkspace {
  readonly rootTitle: string
  readonly depth?: number
}

/** The tree of pages under a tag. */
export const wikiToc = definePlugin({
  toolId: 'wiki-toc',
  displayName: 'Wiki table of contents',
  description: 'The tree of pages that are tagged with a page, and with those, and so on.',
  tools: (setup) => [
    readingTool<Input>(setup, {
      name: 'wiki-toc',
      description:
        'Shows a table of contents of a wiki: the pages that are tagged with rootTitle, those tagged with these, and so on.',
      properties: {
        rootTitle: { type: 'string', description: 'The page to begin with.' },
        depth: { type: 'integer', description: 'How many levels below it, 10 at most. Default 3.' },
      },
      required: ['rootTitle'],
      async execute({ rootTitle, depth: asked, workspaceName }, wiki, { signal }) {
        const depth = within(asked, { default: 3, most: 10 })
        const root = await wiki.tagTree(rootTitle, { signal, depth })
        // A tag need not be a page.
        if (root.count === 0) await pageOf(wiki, rootTitle, signal)
        const lines = [...linesOf(root, 0, depth)]
        const output = linesWithin(
          lines,
          (left) => `(${left} more pages: ask with a lower depth, or with one of these as rootTitle)`,
        )
        return { output, details: { workspaceName, rootTitle, depth, pages: lines.length - 1 } }
      },
    }),
  ],
})

/** Never deeper than was asked for, whatever the store gives. */
function* linesOf(node: TagNode, level: number, depth: number): Iterable<string> {
  const children = level < depth ? node.children : []
  yield `${'  '.repeat(level)}- ${quoted(node.title)}${noteOf(node, children.length)}`
  if (node.isCycle) return
  for (const child of children) yield* linesOf(child, level + 1, depth)
}

function noteOf({ count, isCycle }: TagNode, shown: number): string {
  if (isCycle) return ' (a circle: it stands above already)'
  return count > shown ? ` (${count - shown} more below)` : ''
}
