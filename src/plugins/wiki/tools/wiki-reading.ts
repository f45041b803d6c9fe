import { cutText } from '../../../core/text.ts'
import { visibleText } from '../../../platform/visible-text.ts'
import { definePlugin } from '../../plugin.ts'
import type { TagNode, Tiddler } from '../knowledge-store.ts'
import { headOf, line, linesWithin, maxOutputCharacters, quoted } from './page-text.ts'
import { filtered, type InWorkspace, pageOf, readingTool, within } from './wiki-tool.ts'

interface ListInput extends InWorkspace {
  readonly filter?: string
  readonly offset?: number
  readonly limit?: number
  readonly fields?: readonly string[]
}

const mostListed = 200
const usualFields: readonly string[] = ['tags', 'modified']

/** Lists the pages of a wiki. */
export const wikiListTiddlers = definePlugin({
  toolId: 'wiki-list-tiddlers',
  displayName: 'List of wiki pages',
  description: 'Lists the pages of a wiki with the fields that are asked for.',
  tools: (setup) => [
    readingTool<ListInput>(setup, {
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
        let room = maxOutputCharacters - 1000
        for (const title of asked) {
          // A filter may name missing pages.
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

/** As JSON, so that a value cannot look like another line. */
function lineOf(page: Tiddler, fields: readonly string[]): string {
  const { title } = page
  const shown: [string, unknown][] = [...new Set(fields)]
    .filter((name) => name !== 'title')
    .flatMap((name) => {
      const value = shownValue(page, name)
      return value === undefined ? [] : [[line(name, 100), value]]
    })
  return line(JSON.stringify(Object.fromEntries([['title', cutText(title, 500)], ...shown])), 4000)
}

function shownValue(page: Tiddler, name: string): unknown {
  if (name === 'tags') return page.tags?.slice(0, 50).map((tag) => cutText(tag, 100))
  const { text, type, created, modified, fields = {} } = page
  const known: Readonly<Record<string, string | undefined>> = { ...fields, text, type, created, modified }
  const value = Object.hasOwn(known, name) ? known[name] : undefined
  return value === undefined ? undefined : cutText(visibleText(cutText(value, 300)), 300)
}

interface BacklinksInput extends InWorkspace {
  readonly title: string
  readonly limit?: number
}

/** Lists the pages that link to a page. */
export const wikiBacklinks = definePlugin({
  toolId: 'wiki-backlinks',
  displayName: 'Wiki backlinks',
  description: 'Which pages of a wiki link to a page.',
  tools: (setup) => [
    readingTool<BacklinksInput>(setup, {
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
        // Links may lead to a page that does not exist.
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

interface RecentInput extends InWorkspace {
  readonly limit?: number
  readonly daysAgo?: number
}

const msOfDay = 86_400_000

/** Lists the pages that were changed last. */
export const wikiRecent = definePlugin({
  toolId: 'wiki-recent',
  displayName: 'Recent changes of a wiki',
  description: 'The pages of a wiki that were changed last.',
  tools: (setup) => [
    readingTool<RecentInput>(setup, {
      name: 'wiki-recent',
      description: 'Lists the pages of a wiki that were changed last, newest first.',
      properties: {
        limit: { type: 'integer', description: 'How many to list, 200 at most. Default 20.' },
        daysAgo: { type: 'number', description: 'Only what was changed in so many days.' },
      },
      flaw: ({ daysAgo }) =>
        daysAgo === undefined || (typeof daysAgo === 'number' && daysAgo > 0 && daysAgo < 1e5)
          ? undefined
          : `"daysAgo" must be a number of days above 0, got ${String(daysAgo)}`,
      async execute({ limit: asked, daysAgo, workspaceName }, wiki, { signal }) {
        const limit = within(asked, { default: 20, most: 200 })
        const since = daysAgo === undefined ? {} : { since: new Date(setup.services.clock.now() - daysAgo * msOfDay) }
        const pages = (await wiki.recent({ signal, limit, ...since })).slice(0, limit)
        const details = { workspaceName, titles: pages.map(({ title }) => title) }
        const when = daysAgo === undefined ? '' : ` in the last ${daysAgo === 1 ? 'day' : `${daysAgo} days`}`
        if (pages.length === 0) return { output: `No page of ${quoted(workspaceName)} was changed${when}.`, details }
        const more = pages.length === limit ? ['(there may be more: ask again with a higher limit)'] : []
        const head = `Changed last in ${quoted(workspaceName)}${when}:`
        const lines = [head, ...pages.map((page) => `- ${headOf(page)}`), ...more]
        return { output: linesWithin(lines, (left) => `(${left} more: ask with a lower limit)`), details }
      },
    }),
  ],
})

interface TocInput extends InWorkspace {
  readonly rootTitle: string
  readonly depth?: number
}

/** Shows the tree of pages under a tag. */
export const wikiToc = definePlugin({
  toolId: 'wiki-toc',
  displayName: 'Wiki table of contents',
  description: 'The tree of pages that are tagged with a page, and with those, and so on.',
  tools: (setup) => [
    readingTool<TocInput>(setup, {
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

/** Not deeper than asked for, even if the store returns more. */
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

interface ErrorsInput extends InWorkspace {
  readonly title: string
}

/** Lists the problems of a rendered page. */
export const wikiGetErrors = definePlugin({
  toolId: 'wiki-get-errors',
  displayName: 'Errors of a wiki page',
  description: 'Renders a page of a wiki and says what is wrong with it.',
  tools: (setup) => [
    readingTool<ErrorsInput>(setup, {
      name: 'wiki-get-errors',
      description:
        'Renders a page of a wiki and lists what went wrong: broken syntax, filters, recursion, missing pages. For after an edit.',
      properties: { title: { type: 'string', description: 'The page.' } },
      required: ['title'],
      async execute({ title, workspaceName }, wiki, { signal }) {
        await pageOf(wiki, title, signal)
        const { problems, text } = await wiki.render(title, { signal })
        const details = { workspaceName, title, problems: problems.slice(0, 100) }
        if (problems.length === 0) {
          const size = `${text.length} ${text.length === 1 ? 'character' : 'characters'}`
          return { output: `${quoted(title)} renders without errors (${size}).`, details }
        }
        const head = `${quoted(title)} has ${problems.length === 1 ? '1 problem' : `${problems.length} problems`}:`
        const lines = [head, ...problems.map(({ kind, message }) => `- ${kind}: ${line(message, 500)}`)]
        return { output: linesWithin(lines, (left) => `(${left} more: fix these first, then ask again)`), details }
      },
    }),
  ],
})
