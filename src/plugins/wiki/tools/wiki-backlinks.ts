import { definePlugin } from '../../plugin.ts'
import { linesWithin, quoted } from './page-text.ts'
import { type InWorkspace, pageOf, readingTool, within } from './wiki-tool.ts'

interface Input extends InWorkspace {
  readonly title: string
  readonly limit?: number
}

/** Which pages link to a page. */
export const wikiBacklinks = definePlugin({
  toolId: 'wiki-backlinks',
  displayName: 'Wiki backlinks',
  description: 'Which pages of a wiki link to a page.',
  tools: (setup) => [
    readingTool<Input>(setup, {
      name: 'wiki-backlinks',
      description: 'Lists the pages of a wiki that link to a page.',
      properties: {
        title: { type: 'string', description: 'The page that is linked to.' },
        limit: { type: 'integer', description: 'How many to list, 200 at most. Default 20.' },
      },
      required: ['title'],
      async execute({ title, limit: asked, workspaceName }, wiki, { signal }) {
        const limit = within(asked, { default: 20, most: 200 })
        const { titles, total } = await wiki.backlinks(title, { signal, limit })
        // Links may lead to a page that nobody has written yet.
        if (total === 0) await pageOf(wiki, title, signal)
        const shown = titles.slice(0, limit)
        const details = { workspaceName, title, total, titles: shown }
        if (total === 0) return { output: `No page links to ${quoted(title)}.`, details }
        const head = `${total === 1 ? '1 page links' : `${total} pages link`} to ${quoted(title)}:`
        const more = total > shown.length ? [`(${total - shown.length} more: ask again with a higher limit)`] : []
        const lines = [head, ...shown.map((one) => `- ${quoted(one)}`), ...more]
        return { output: linesWithin(lines, (left) => `(${left} more lines: ask with a lower limit)`), details }
      },
    }),
  ],
})
