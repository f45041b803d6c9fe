import { isAbsolute, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Token, Tokens } from 'marked'
import type { Paint } from '../terminal/paint.ts'
import { lineBreak, type Span, type Style, span } from './spans.ts'

/** Inline tokens as spans: text, emphasis, code, links. */
export function inlineSpans(
  tokens: readonly Token[] | undefined,
  context: InlineContext,
  style: Style = plain,
): Span[] {
  return (tokens ?? []).flatMap((token) => spansOf(token as Inline, context, style))
}

export interface InlineContext {
  readonly paint: Paint
  /** Paths inside it may become links. */
  readonly folder?: string | undefined
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

function spansOf(token: Inline, context: InlineContext, style: Style): Span[] {
  const { paint } = context
  switch (token.type) {
    case 'strong':
      return inlineSpans(token.tokens, context, both(paint.bold, style))
    case 'em':
      return inlineSpans(token.tokens, context, both(paint.italic, style))
    case 'del':
      return [span('~~', style), ...inlineSpans(token.tokens, context, style), span('~~', style)]
    case 'codespan':
      return [span(token.text, both(paint.cyan, style))]
    case 'br':
      return [lineBreak]
    case 'link':
      return link(token, context, style)
    case 'image':
      return [
        span(`[image${token.text ? `: ${token.text}` : ''}, from ${imageSource(token.href)}]`, both(paint.dim, style)),
      ]
    case 'checkbox':
      return [] // shown by its list item
    case 'html':
      return [span(token.raw, style)]
    case 'text':
      if (token.tokens) return inlineSpans(token.tokens, context, style)
      return [span(decodeEntities(token.text), style)]
    default:
      return [span(decodeEntities(token.text), style)]
  }
}

/** The target is shown beside the text, so that none is hidden; both are links where the terminal knows them. */
function link({ href, text, tokens }: Tokens.Link, context: InlineContext, style: Style): Span[] {
  const { paint, folder } = context
  const target = shownTarget(href)
  if (target === undefined) return inlineSpans(tokens, context, style)
  const linked = hyperlink(linkAddress(decodeEntities(href), folder), paint)
  const underlined = both(paint.underline, style)
  const own = linked ? both(linked, underlined) : underlined
  if (isTarget(text, target)) return [span(target, own)]
  const shown = both(paint.dim, style)
  return [...inlineSpans(tokens, context, own), span(` (${target})`, linked ? both(linked, shown) : shown)]
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

/**
 * A style that makes text a link of the terminal (OSC 8). It is applied to each row, so a link that is wrapped is opened
 * anew in every one. The address comes from `linkAddress`, which leaves no character that could end the sequence.
 */
function hyperlink(address: string | undefined, paint: Paint): Style | undefined {
  // Where there are no colours there may be no terminal.
  if (address === undefined || paint.bold('x') === 'x') return undefined
  const open = `\x1b]8;id=${idOf(address)};${address}\x1b\\`
  return (text) => (text === '' ? '' : `${open}${text}\x1b]8;;\x1b\\`)
}

/** Joins the rows of one link for the terminal. */
function idOf(address: string): string {
  let hash = 0
  for (let i = 0; i < address.length; i++) hash = (hash * 31 + address.charCodeAt(i)) >>> 0
  return hash.toString(36)
}

/** What may be linked: web and mail addresses, and files inside the folder; `undefined` for all else. */
function linkAddress(target: string, folder: string | undefined): string | undefined {
  const url = URL.parse(target)
  if (url) return schemes.includes(url.protocol) ? safe(url.href) : undefined
  if (folder === undefined || !isPath.test(target)) return undefined
  const path = resolve(folder, target.replace(/[#?].*$/, ''))
  const inside = relative(folder, path)
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) return undefined
  return safe(pathToFileURL(path).href)
}

/** Terminals ignore longer ones. */
const safe = (address: string): string | undefined =>
  address.length <= 2000 && /^[\x21-\x7e]+$/.test(address) ? address : undefined

const isPath = /^[\w./~ -][\w./#?=~ -]{0,300}$/
