import type { Token, Tokens } from 'marked'
import type { Paint } from '../paint.ts'
import { decodeEntities } from './entities.ts'
import { imageSource, shownTarget } from './links.ts'
import { type Look, lineBreak, type Span, span } from './spans.ts'

/** What stands in a line: words, emphasis, code, links. */
export function inlineSpans(tokens: readonly Token[] | undefined, paint: Paint, look: Look = plain): Span[] {
  return (tokens ?? []).flatMap((token) => spansOf(token as Inline, paint, look))
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

function spansOf(token: Inline, paint: Paint, look: Look): Span[] {
  switch (token.type) {
    case 'strong':
      return inlineSpans(token.tokens, paint, both(paint.bold, look))
    case 'em':
      return inlineSpans(token.tokens, paint, both(paint.italic, look))
    case 'del':
      return [span('~~', look), ...inlineSpans(token.tokens, paint, look), span('~~', look)]
    case 'codespan':
      return [span(token.text, both(paint.cyan, look))]
    case 'br':
      return [lineBreak]
    case 'link':
      return link(token, paint, look)
    case 'image':
      return [
        span(`[image${token.text ? `: ${token.text}` : ''}, from ${imageSource(token.href)}]`, both(paint.dim, look)),
      ]
    case 'checkbox':
      return [] // its item shows it
    case 'html':
      return [span(token.raw, look)]
    case 'text':
      if (token.tokens) return inlineSpans(token.tokens, paint, look)
      return [span(decodeEntities(token.text), look)]
    default:
      return [span(decodeEntities(token.text), look)]
  }
}

function link({ href, text, tokens }: Tokens.Link, paint: Paint, look: Look): Span[] {
  const target = shownTarget(href)
  const underlined = both(paint.underline, look)
  if (target === undefined) return inlineSpans(tokens, paint, look)
  if (saysItself(text, target)) return [span(target, underlined)]
  return [...inlineSpans(tokens, paint, underlined), span(` (${target})`, both(paint.dim, look))]
}

/** Whether a link says of itself where it leads, so that once is enough. */
const saysItself = (text: string, target: string): boolean =>
  ['', 'http://', 'https://', 'mailto:'].some((scheme) => target === scheme + text || target === `${scheme}${text}/`)

const plain: Look = (text) => text

/** The same two make the same look, so that neighbours can be painted at once. */
function both(outer: Look, inner: Look): Look {
  if (inner === plain) return outer
  return (text) => outer(inner(text))
}
