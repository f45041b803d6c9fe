import type { HtmlToTextOptions } from 'html-to-text'
import { answerAsWorker } from '../../platform/own-worker.ts'

/** More than any page worth reading has; what lies behind is left out rather than worked on for minutes. */
const mostInput = 2 * 1024 * 1024

const options: HtmlToTextOptions = {
  wordwrap: false,
  formatters: {
    cell(element, walk, builder) {
      walk(element.children, builder)
      builder.addInline(' | ')
    },
  },
  limits: { maxInputLength: mostInput, maxDepth: 100, maxChildNodes: 20_000, ellipsis: '…' },
  selectors: [
    ...['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'nav', 'form', 'button', 'dialog', 'title'].map(
      (selector) => ({ selector, format: 'skip' }),
    ),
    { selector: 'img', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, noAnchorUrl: true, linkBrackets: ['(', ')'] } },
    ...[1, 2, 3, 4, 5, 6].map((level) => ({
      selector: `h${level}`,
      format: 'heading',
      options: { uppercase: false },
    })),
    // The library's own tables make room for every column that a cell says it spans: a short page can take all memory.
    { selector: 'table', format: 'block' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
}

export interface ReadablePage {
  readonly title: string
  readonly text: string
}

const timeoutMs = 5_000

/**
 * The words of a page without its furniture; links are kept, relative ones made whole. Worked on in a thread of its own:
 * some pages are made to take minutes, or all memory, and they need not be long for that.
 */
export async function readableHtml(html: string, url: string, signal?: AbortSignal): Promise<ReadablePage> {
  const { inOwnWorker } = await import('../../platform/own-worker.ts')
  try {
    const job: Job = { html: html.slice(0, mostInput), url }
    return await inOwnWorker<ReadablePage>(import.meta.url, job, { timeoutMs, ...(signal && { signal }) })
  } catch (error) {
    if (signal?.aborted) throw error
    return { title: titleOf(html), text: withoutTags(html) }
  }
}

interface Job {
  readonly html: string
  readonly url: string
}

async function convert({ html, url }: Job): Promise<ReadablePage> {
  const { compile } = await loadConverter()
  const selectors = options.selectors!.map((rule) =>
    rule.selector === 'a' ? { ...rule, options: { ...rule.options, pathRewrite: whole(url) } } : rule,
  )
  const text = compile({ ...options, selectors })(html)
  return { title: titleOf(html), text: text.replace(/\n{3,}/g, '\n\n').trim() }
}

/** What is left of a page that cannot be read properly in time. One pass, whatever the page holds. */
function withoutTags(page: string): string {
  const html = page.slice(0, mostInput)
  const parts: string[] = []
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at)
    if (open < 0) {
      parts.push(html.slice(at))
      break
    }
    parts.push(html.slice(at, open))
    const close = html.indexOf('>', open)
    if (close < 0) break
    at = close + 1
    const [, name] = /^<(script|style)\b/i.exec(html.slice(open, open + 8)) ?? []
    if (name) at = html.indexOf('<', at) < 0 ? html.length : html.indexOf('<', at)
  }
  const words = parts
    .join(' ')
    .split(/[ \t\r\f\v]+/)
    .join(' ')
  return words
    .split(/ ?\n[ \n]*/)
    .join('\n')
    .trim()
}

async function loadConverter(): Promise<typeof import('html-to-text')> {
  try {
    return await import('html-to-text')
  } catch (cause) {
    throw new Error(
      'HTML cannot be made readable: the package html-to-text is not installed (npm install html-to-text)',
      {
        cause,
      },
    )
  }
}

const whole =
  (base: string) =>
  (path: string): string =>
    URL.parse(path, base)?.href ?? path

function titleOf(html: string): string {
  const [, title = ''] = /<title[^>]{0,200}>([^<]{0,500})/i.exec(html.slice(0, 65_536)) ?? []
  return title.replace(/\s+/g, ' ').trim()
}

await answerAsWorker(import.meta.url, convert)
