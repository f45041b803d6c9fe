import { JobTimeout, persistentWorker } from '../../../platform/worker-threads.ts'
import { textHtml } from './html.ts'

export interface MarkdownRenderer {
  /** Markdown as HTML. Text that is too big, too deep or too slow to parse is returned as it was written. */
  render(markdown: string): Promise<string>
  close(): Promise<void>
}

const longest = 300_000
const defaultBudgetMs = 5000
/** After so many timeouts nothing more is parsed. */
const mostTimeouts = 3

export function markdownRenderer({
  budgetMs = defaultBudgetMs,
}: {
  readonly budgetMs?: number
} = {}): MarkdownRenderer {
  const thread = persistentWorker(() => new URL('./markdown-thread.ts', import.meta.url), 'markdown')
  let timeouts = 0
  return {
    async render(markdown) {
      if (markdown.length > longest || timeouts >= mostTimeouts) return asWritten(markdown)
      try {
        return await thread.ask<string>({ markdown }, budgetMs)
      } catch (error) {
        if (error instanceof JobTimeout) timeouts++
        return asWritten(markdown)
      }
    },
    close: () => thread.close(),
  }
}

const asWritten = (text: string): string => `<pre class="prose">${textHtml(text)}</pre>\n`
