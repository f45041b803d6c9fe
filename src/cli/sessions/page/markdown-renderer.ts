import { OutOfTime, standingWorker } from '../../../platform/standing-worker.ts'
import { textHtml } from './html.ts'

/** Makes HTML of what models write. */
export interface MarkdownRenderer {
  /** Never fails: what is too big, too deep or too slow is shown as it is written. */
  render(markdown: string): Promise<string>
  close(): Promise<void>
}

const longest = 300_000
const usualBudgetMs = 5000
/** A page of traps is not tried to its end. */
const mostTraps = 3

export function markdownRenderer({ budgetMs = usualBudgetMs }: { readonly budgetMs?: number } = {}): MarkdownRenderer {
  const thread = standingWorker(() => new URL('./markdown-thread.ts', import.meta.url), 'markdown')
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

const asWritten = (text: string): string => `<pre class="prose">${textHtml(text)}</pre>\n`
