import { definePlugin } from '../../plugin.ts'
import { headOf, linesWithin, quoted } from './page-text.ts'
import { type InWorkspace, readingTool, within } from './wiki-tool.ts'

interface Input extends InWorkspace {
  readonly limit?: number
  readonly daysAgo?: number
}

const msOfDay = 86_400_000

/** What was changed last. */
export const wikiRecent = definePlugin({
  toolId: 'wiki-recent',
  displayName: 'Recent changes of a wiki',
  description: 'The pages of a wiki that were changed last.',
  tools: (setup) => [
    readingTool<Input>(setup, {
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
