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
export const shownText = (text: string): string => escapeHtml(visibleText(text))

/** Names, and what was done or asked for: nothing in it is hidden. */
export const shownExactly = (text: string): string => escapeHtml(fullyVisible(text, { lines: 'kept' }))
