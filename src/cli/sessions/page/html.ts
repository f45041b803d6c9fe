import type { ImageBlock } from '../../../core/turn.ts'
import { fullyVisible, visibleText } from '../../../platform/visible-text.ts'

/** Escapes text for use between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.toWellFormed().replace(/[&<>"'`]/g, (sign) => entities[sign]!)
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

/** For messages and tool output: control characters become visible. */
export const textHtml = (text: string): string => escapeHtml(visibleText(text))

/** For names and arguments: all hidden characters become visible. */
export const exactHtml = (text: string): string => escapeHtml(fullyVisible(text, { lines: 'kept' }))

/** Not SVG, which is a document. */
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const mostCharacters = 8_000_000

/** An image embedded in the page, or a note if it cannot be shown. */
export function imageHtml({ mediaType, data }: ImageBlock): string {
  const isPicture = imageTypes.has(mediaType) && data.length <= mostCharacters && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
  if (!isPicture) return `<p class="gone">[image ${exactHtml(mediaType)}, not shown]</p>\n`
  return `<p><img src="data:${mediaType};base64,${data}" alt="an image"></p>\n`
}

/** Lines of a diff, coloured by their first character. */
export function diffHtml(lines: readonly string[]): string {
  const shown = lines.map((line) => {
    const className = diffClasses[line[0] ?? ''] ?? (line.startsWith('@@') ? 'at' : '')
    const text = exactHtml(line)
    return className === '' ? text : `<span class="${className}">${text}</span>`
  })
  return `<pre class="diff">${shown.join('\n')}</pre>\n`
}

const diffClasses: Readonly<Record<string, string>> = { '+': 'add', '-': 'del' }

/** Whether a text is output of `diff -u` or `git diff`. */
export function looksLikeDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 4000)) && /^@@ -\d/m.test(text.slice(0, 20_000))
}

const schemes = new Set(['http:', 'https:', 'mailto:'])

/**
 * The target of a link to the web or a mail address, `undefined` for others. Parsed as a browser does, so that tabs and
 * line breaks in a scheme hide nothing. Entities are not decoded, since the caller escapes the target.
 */
export function safeLink(href: string): { readonly href: string; readonly host: string } | undefined {
  const url = URL.parse(href)
  if (!url || !schemes.has(url.protocol)) return undefined
  const host = url.protocol === 'mailto:' ? url.pathname : url.host
  return { href: url.href, host }
}

/** The host that an address names, for display. */
export function hostOf(href: string): string {
  const url = URL.parse(href)
  if (!url) return 'a relative address'
  return url.host === '' ? `a ${url.protocol} address` : url.host
}
