import type { HtmlToTextOptions } from 'html-to-text'
import { answerAsWorker } from '../../platform/own-worker.ts'

/** More than any page worth reading has; what lies behind is left out rather than worked on for minutes. */
const mostInput = 2 * 1024 * 1024

const options: HtmlToTextOptions = {
  wordwrap: false,
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
    { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false, maxColumnWidth: 60 } },
  ],
}

export interface ReadablePage {
  readonly title: string
  readonly text: string
}

/** Larger pages are worked on in a thread of their own: some are made to take minutes. */
const mostHere = 64 * 1024
const timeoutMs = 5_000

/** The words of a page without its furniture; links are kept, relative ones made whole. */
export async function readableHtml(html: string, url: string, signal?: AbortSignal): Promise<ReadablePage> {
  if (html.length <= mostHere) return convert({ html, url })
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

/** What is left of a page that cannot be read properly in time. */
function withoutTags(html: string): string {
  const bare = html.slice(0, mostInput).replace(/<(script|style)\b[^>]*>[^<]*/gi, '')
  return bare
    .replace(/<[^>]*>/g, ' ')
    .replace(/[ \t]+/g, ' ')
    .replace(/\s*\n\s*/g, '\n')
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
  const [, title = ''] = /<title[^>]*>([^<]{0,500})/i.exec(html.slice(0, 65_536)) ?? []
  return title.replace(/\s+/g, ' ').trim()
}

await answerAsWorker(import.meta.url, convert)
