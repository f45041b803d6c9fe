import { answerStanding, OutOfTime, standingWorker } from '../../../platform/standing-worker.ts'
import { shownText } from './escape-html.ts'

/** Makes HTML of what models write. */
export interface MarkdownThread {
  /** Never fails: what is too big, too deep or too slow is shown as it is written. */
  render(markdown: string): Promise<string>
  close(): Promise<void>
}

const longest = 300_000
const usualBudgetMs = 5000
/** A page of traps is not tried to its end. */
const mostTraps = 3

export function markdownThread({ budgetMs = usualBudgetMs }: { readonly budgetMs?: number } = {}): MarkdownThread {
  const thread = standingWorker(import.meta.url, name)
  let traps = 0
  return {
    async render(markdown) {
      if (markdown.length > longest || traps >= mostTraps) return asWritten(markdown)
      try {
        return await thread.ask<string>({ markdown }, budgetMs)
      } catch (error) {
        if (error instanceof OutOfTime) traps++
        return asWritten(markdown)
      }
    },
    close: () => thread.close(),
  }
}

const asWritten = (text: string): string => `<pre class="prose">${shownText(text)}</pre>\n`

const name = 'markdown'

/** The parser is loaded here and nowhere else; it is an optional package. */
answerStanding(name, async ({ markdown }: { readonly markdown: string }) => {
  const [{ Marked }, { markdownHtml }] = await Promise.all([import('marked'), import('./markdown-html.ts')])
  return markdownHtml(new Marked().lexer(markdown))
})
