import type { Token, Tokens } from 'marked'
import type { Paint } from '../paint.ts'
import { lineBreak, type Span, type Style, span } from './spans.ts'

/** Inline tokens as spans: text, emphasis, code, links. */
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
      return [] // shown by its list item
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
  if (isTarget(text, target)) return [span(target, underlined)]
  return [...inlineSpans(tokens, paint, underlined), span(` (${target})`, both(paint.dim, style))]
}

/** Whether the text of a link is its target, so that it need not be shown twice. */
const isTarget = (text: string, target: string): boolean =>
  ['', 'http://', 'https://', 'mailto:'].some((scheme) => target === scheme + text || target === `${scheme}${text}/`)

const plain: Style = (text) => text

/** Both styles. Returns `outer` itself where possible, so that neighbouring spans can be painted together. */
function both(outer: Style, inner: Style): Style {
  if (inner === plain) return outer
  return (text) => outer(inner(text))
}

/** The target of a link for display; `undefined` for schemes other than web and mail. */
function shownTarget(href: string): string | undefined {
  const target = decodeEntities(href)
  const url = URL.parse(target)
  if (!url) return isPlainPath.test(target) ? target : undefined
  if (!schemes.includes(url.protocol)) return undefined
  // Normalised as a browser does, so that text before an @ is not taken for the host.
  const whole = url.href
  if (whole.length <= longestTarget) return whole
  return url.host === '' ? `${whole.slice(0, longestTarget)}…` : `${url.origin}/…`
}

/** The host of an image. Images are never fetched. */
function imageSource(src: string): string {
  const url = URL.parse(decodeEntities(src))
  if (!url) return 'a file'
  return url.host || url.protocol.replace(':', '')
}

const schemes: readonly string[] = ['http:', 'https:', 'mailto:']
const longestTarget = 200
/** A relative path or anchor, without characters that could form a scheme. */
const isPlainPath = /^[\w./#?=~ -]{1,200}$/

/** Decodes numeric entities and the most common named ones. */
function decodeEntities(text: string): string {
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
