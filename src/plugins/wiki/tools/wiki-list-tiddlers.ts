import { visibleText } from '../../../platform/visible-text.ts'
import { definePlugin } from '../../plugin.ts'
import type { Tiddler } from '../knowledge-store.ts'
import { cut, line, mostGiven, quoted } from './page-text.ts'
import { filtered, type InWorkspace, readingTool, within } from './wiki-tool.ts'

interface Input extends InWorkspace {
  readonly filter?: string
  readonly offset?: number
  readonly limit?: number
  readonly fields?: readonly string[]
}

const mostListed = 200
const usualFields: readonly string[] = ['tags', 'modified']

/** The pages of a wiki, page by page. */
export const wikiListTiddlers = definePlugin({
  toolId: 'wiki-list-tiddlers',
  displayName: 'List of wiki pages',
  description: 'Lists the pages of a wiki with the fields that are asked for.',
  tools: (setup) => [
    readingTool<Input>(setup, {
      name: 'wiki-list-tiddlers',
      description: `Lists pages of a wiki, one line of JSON for each, and says how many there are.
Long values are cut; wiki-search gives whole texts.`,
      properties: {
        filter: { type: 'string', description: 'A TiddlyWiki filter. Default: all pages but those of the system.' },
        offset: { type: 'integer', description: 'How many to leave out at the beginning. Default 0.' },
        limit: { type: 'integer', description: 'How many to list, 200 at most. Default 50.' },
        fields: {
          type: 'array',
          items: { type: 'string' },
          description: 'Which fields to show beside the title. Default: tags and modified.',
        },
      },
      flaw: ({ fields }) => {
        const isFine = fields === undefined || (Array.isArray(fields) && fields.every((one) => typeof one === 'string'))
        if (!isFine) return '"fields" must be a list of names of fields, such as ["tags", "modified"]'
        return Array.isArray(fields) && fields.length > 30 ? '"fields" can name 30 fields at most' : undefined
      },
      async execute(input, wiki, { signal }) {
        const { workspaceName, filter = '[!is[system]sort[title]]', fields = usualFields } = input
        const offset = within(input.offset, { default: 0, least: 0, most: Number.MAX_SAFE_INTEGER })
        const limit = within(input.limit, { default: 50, most: mostListed })
        const { titles, total } = await filtered(filter, signal, () => wiki.filter(filter, { signal, offset, limit }))
        const asked = titles.slice(0, limit)
        const lines: string[] = []
        let room = mostGiven - 1000
        for (const title of asked) {
          // A filter may name pages that are not there.
          const one = lineOf((await wiki.get(title, { signal })) ?? { title }, fields)
          room -= one.length + 1
          if (room < 0) break
          lines.push(one)
        }
        const details = { workspaceName, total, offset, titles: asked.slice(0, lines.length) }
        if (total === 0) return { output: `No page of ${quoted(workspaceName)} matches.`, details }
        if (lines.length === 0)
          return { output: `There are ${total} pages, and none from ${offset} on; use a lower offset.`, details }
        const next = offset + lines.length
        const head = `Pages ${offset + 1}-${next} of ${total} in ${quoted(workspaceName)}:`
        const capped = input.limit !== undefined && input.limit > mostListed ? [`(${mostListed} at most at once)`] : []
        const more = next < total ? [`(${total - next} more: go on with offset=${next})`] : []
        return { output: [head, ...lines, ...capped, ...more].join('\n'), details }
      },
    }),
  ],
})

/** As JSON: what a value says cannot look like another line. */
function lineOf(page: Tiddler, fields: readonly string[]): string {
  const { title } = page
  const shown: [string, unknown][] = [...new Set(fields)]
    .filter((name) => name !== 'title')
    .flatMap((name) => {
      const value = shownValue(page, name)
      return value === undefined ? [] : [[line(name, 100), value]]
    })
  return line(JSON.stringify(Object.fromEntries([['title', cut(title, 500)], ...shown])), 4000)
}

function shownValue(page: Tiddler, name: string): unknown {
  if (name === 'tags') return page.tags?.slice(0, 50).map((tag) => cut(tag, 100))
  const { text, type, created, modified, fields = {} } = page
  const known: Readonly<Record<string, string | undefined>> = { ...fields, text, type, created, modified }
  const value = Object.hasOwn(known, name) ? known[name] : undefined
  return value === undefined ? undefined : cut(visibleText(cut(value, 300)), 300)
}
