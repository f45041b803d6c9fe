import { compile, type HtmlToTextOptions } from 'html-to-text'
import { answerJob } from '../../platform/worker-threads.ts'
import { type HtmlJob, maxInputLength, type ReadablePage, titleOf } from './readable-html.ts'

/** The job of the thread of `readableHtml`. */
function convert({ html, url }: HtmlJob): ReadablePage {
  const selectors = options.selectors!.map((rule) =>
    rule.selector === 'a' ? { ...rule, options: { ...rule.options, pathRewrite: whole(url) } } : rule,
  )
  const text = compile({ ...options, selectors })(html)
  return { title: titleOf(html), text: text.replace(/\n{3,}/g, '\n\n').trim() }
}

const options: HtmlToTextOptions = {
  wordwrap: false,
  formatters: {
    cell(element, walk, builder) {
      walk(element.children, builder)
      builder.addInline(' | ')
    },
  },
  limits: { maxInputLength, maxDepth: 100, maxChildNodes: 20_000, ellipsis: '…' },
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
    // The library's table format allocates every column that a cell claims to span: a short page could take all memory.
    { selector: 'table', format: 'block' },
    { selector: 'tr', format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
    { selector: 'td', format: 'cell' },
    { selector: 'th', format: 'cell' },
  ],
}

const whole =
  (base: string) =>
  (path: string): string =>
    URL.parse(path, base)?.href ?? path

void answerJob(convert)
