import type { Token, Tokens } from 'marked'
import type { Paint } from '../paint.ts'
import { lineBreak, type Span, type Style, span } from './spans.ts'

/** What stands in a line: words, emphasis, code, links. */
export function inlineSpans(tokens: readonly Token[] | undefined, paint: Paint, style: Style = plain): Span[] {
  return (tokens ?? []).flatMap((token) => spansOf(token as Inline, paint, style))
}

type Inline =
  | Tokens.Text
  | Tokens.Strong
  | Tokens.Em
  | Tokens.Del
  | Tokens.Codespan
  | Tokens.Br
  | Tokens.Escape
  | Tokens.Link
  | Tokens.Image
  | Tokens.HTML
  | Tokens.Checkbox

function spansOf(token: Inline, paint: Paint, style: Style): Span[] {
  switch (token.type) {
    case 'strong':
      return inlineSpans(token.tokens, paint, both(paint.bold, style))
    case 'em':
      return inlineSpans(token.tokens, paint, both(paint.italic, style))
    case 'del':
      return [span('~~', style), ...inlineSpans(token.tokens, paint, style), span('~~', style)]
    case 'codespan':
      return [span(token.text, both(paint.cyan, style))]
    case 'br':
      return [lineBreak]
    case 'link':
      return link(token, paint, style)
    case 'image':
      return [
        span(`[image${token.text ? `: ${token.text}` : ''}, from ${imageSource(token.href)}]`, both(paint.dim, style)),
      ]
    case 'checkbox':
      return [] // its item shows it
    case 'html':
      return [span(token.raw, style)]
    case 'text':
      if (token.tokens) return inlineSpans(token.tokens, paint, style)
      return [span(decodeEntities(token.text), style)]
    default:
      return [span(decodeEntities(token.text), style)]
  }
}

function link({ href, text, tokens }: Tokens.Link, paint: Paint, style: Style): Span[] {
  const target = shownTarget(href)
  const underlined = both(paint.underline, style)
  if (target === undefined) return inlineSpans(tokens, paint, style)
  if (saysItself(text, target)) return [span(target, underlined)]
  return [...inlineSpans(tokens, paint, underlined), span(` (${target})`, both(paint.dim, style))]
}

/** Whether a link says of itself where it leads, so that once is enough. */
const saysItself = (text: string, target: string): boolean =>
  ['', 'http://', 'https://', 'mailto:'].some((scheme) => target === scheme + text || target === `${scheme}${text}/`)

const plain: Style = (text) => text

/** The same two make the same style, so that neighbours can be painted at once. */
function both(outer: Style, inner: Style): Style {
  if (inner === plain) return outer
  return (text) => outer(inner(text))
}

/** Where a link leads, as it is shown; `undefined` where it leads nowhere we would name. */
export function shownTarget(href: string): string | undefined {
  const target = decodeEntities(href)
  const url = URL.parse(target)
  if (!url) return isPlainPath.test(target) ? target : undefined
  if (!schemes.includes(url.protocol)) return undefined
  // As the browser would read it: what stands before an @ is not taken for the host.
  const whole = url.href
  if (whole.length <= longestTarget) return whole
  return url.host === '' ? `${whole.slice(0, longestTarget)}…` : `${url.origin}/…`
}

/** Whose image it would be; nothing is ever fetched. */
export function imageSource(src: string): string {
  const url = URL.parse(decodeEntities(src))
  if (!url) return 'a file'
  return url.host || url.protocol.replace(':', '')
}

const schemes: readonly string[] = ['http:', 'https:', 'mailto:']
const longestTarget = 200
/** A file or a place in this text: nothing that any program could take for a scheme. */
const isPlainPath = /^[\w./#?=~ -]{1,200}$/

/** Markdown writes some characters as in HTML; nothing but these and numbers is ever needed. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,6}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return named[name] ?? whole
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd'
  })
}

const named: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  rarr: '→',
  larr: '←',
  times: '×',
  middot: '·',
  bull: '•',
  euro: '€',
  deg: '°',
})
