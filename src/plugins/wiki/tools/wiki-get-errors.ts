import { definePlugin } from '../../plugin.ts'
import { line, linesWithin, quoted } from './page-text.ts'
import { type InWorkspace, pageOf, readingTool } from './wiki-tool.ts'

interface Input extends InWorkspace {
  readonly title: string
}

/** What is wrong with a page once it is rendered. */
export const wikiGetErrors = definePlugin({
  toolId: 'wiki-get-errors',
  displayName: 'Errors of a wiki page',
  description: 'Renders a page of a wiki and says what is wrong with it.',
  tools: (setup) => [
    readingTool<Input>(setup, {
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
        return { output: linesWithin(lines, (left) => `(${left} more: mend these first, then ask again)`), details }
      },
    }),
  ],
})
