import { visibleName } from '../../platform/visible-text.ts'

/** The end of a text that grows, on one line. */
export function lastWords(text: string, most = 60): string {
  const words = text.replace(/\s+/g, ' ').trim()
  if (words.length <= most) return visibleName(words)
  const cut = words.slice(-most)
  return visibleName(`…${cut.slice(cut.indexOf(' ') + 1)}`)
}
