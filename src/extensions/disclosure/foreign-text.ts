import { withoutHidden } from '../../platform/visible-text.ts'

/** A server's words on one line, as text inside of a tag: they end no tag, and hide nothing. */
export function foreignText(text: string, maxLength: number): string {
  return escapeXml(cut(oneLine(text, maxLength), maxLength))
}

/** The same of the first sentence alone. */
export function firstSentence(text: string, maxLength: number): string {
  const line = oneLine(text, 1000)
  const [sentence = line] = /^.*?[.!?](?=\s|$)/.exec(line) ?? []
  return escapeXml(cut(sentence.replace(/\.$/, ''), maxLength))
}

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Enough is looked at to fill a line, however much there is. */
const oneLine = (text: string, maxLength: number): string =>
  withoutHidden(text.slice(0, maxLength * 4))
    .text.replace(/\s+/g, ' ')
    .trim()

/** Between two words where there are some, and never within a character. */
function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const start = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '')
  const words = start.replace(/\s+\S*$/, '')
  return `${words.length > maxLength / 2 ? words : start}…`
}
