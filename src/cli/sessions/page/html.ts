import type { ImageBlock } from '../../../core/turn.ts'
import { fullyVisible, visibleText } from '../../../platform/visible-text.ts'

/** Text as it stands in a page, between tags and in quoted attributes alike. */
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

/** What somebody said or a tool printed: control characters are seen and do nothing. */
export const textHtml = (text: string): string => escapeHtml(visibleText(text))

/** Names, and what was done or asked for: nothing in it is hidden. */
export const exactHtml = (text: string): string => escapeHtml(fullyVisible(text, { lines: 'kept' }))

/** Pictures only: an SVG is a document. */
const shown = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const mostCharacters = 8_000_000

/** A picture inside the page itself, or what it was where it cannot be one. */
export function imageHtml({ mediaType, data }: ImageBlock): string {
  const isPicture = shown.has(mediaType) && data.length <= mostCharacters && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
  if (!isPicture) return `<p class="gone">[image ${exactHtml(mediaType)}, not shown]</p>\n`
  return `<p><img src="data:${mediaType};base64,${data}" alt="an image"></p>\n`
}

/** Lines of a diff, each in the colour of its first sign. */
export function diffHtml(lines: readonly string[]): string {
  const shown = lines.map((line) => {
    const look = looks[line[0] ?? ''] ?? (line.startsWith('@@') ? 'at' : '')
    const text = exactHtml(line)
    return look === '' ? text : `<span class="${look}">${text}</span>`
  })
  return `<pre class="diff">${shown.join('\n')}</pre>\n`
}

const looks: Readonly<Record<string, string>> = { '+': 'add', '-': 'del' }

/** Whether a text is what `diff -u` or `git diff` prints. */
export function looksLikeDiff(text: string): boolean {
  return /^(?:diff --git |--- .*\n\+\+\+ |@@ -\d)/m.test(text.slice(0, 4000)) && /^@@ -\d/m.test(text.slice(0, 20_000))
}

const schemes = new Set(['http:', 'https:', 'mailto:'])

/**
 * Where a link goes, if it may go there: to the web or to a mailbox. Read as a browser reads it, so that tabs and line
 * breaks in a scheme hide nothing; an entity in it is no entity here, since whoever writes it down escapes it.
 */
export function safeLink(href: string): { readonly href: string; readonly host: string } | undefined {
  const url = URL.parse(href)
  if (!url || !schemes.has(url.protocol)) return undefined
  const host = url.protocol === 'mailto:' ? url.pathname : url.host
  return { href: url.href, host }
}

/** Where something would be loaded from, for people. */
export function hostOf(href: string): string {
  const url = URL.parse(href)
  if (!url) return 'a relative address'
  return url.host === '' ? `a ${url.protocol} address` : url.host
}
