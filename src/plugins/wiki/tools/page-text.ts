import { cutText } from '../../../core/text.ts'
import { digestOf } from '../../../platform/digest.ts'
import { visibleName, visibleText } from '../../../platform/visible-text.ts'
import type { Tiddler } from '../knowledge-store.ts'

/** The most characters of one result. */
export const maxOutputCharacters = 32_000

/** A text between marks that it cannot contain, as they have a digest of it. */
export function fenced(text: string): string {
  let id = digestOf(text).slice(0, 16)
  while (text.includes(id)) id = digestOf(id + text).slice(0, 16)
  return `<page-text ${id}>\n${text}\n</page-text ${id}>`
}

/** A title, a name or a value on one line, in quotes. */
export const quoted = (name: string): string => `"${line(name, 200)}"`

/** On one line, cut at so many characters. */
export const line = (text: string, most: number): string => cutText(visibleName(cutText(text, most)), most)

/** A part of a text, and its end index. */
export function partOf(text: string, from: number, most: number): { readonly part: string; readonly end: number } {
  const end = text.length - from <= most ? text.length : endWithin(text, from, most)
  return { part: text.slice(from, end), end }
}

/** As many lines as fit; `more` makes a line about those that were left out. */
export function linesWithin(
  lines: readonly string[],
  more: (left: number) => string,
  most: number = maxOutputCharacters - 1000,
): string {
  let length = 0
  const end = lines.findIndex((one) => (length += one.length + 1) > most)
  return end < 0 ? lines.join('\n') : [...lines.slice(0, end), more(lines.length - end)].join('\n')
}

/** Divides the room among several texts: short ones get all they need, long ones equal parts. */
export function shares(lengths: readonly number[], room: number): readonly number[] {
  const order = lengths.map((_, i) => i).sort((a, b) => lengths[a]! - lengths[b]!)
  const given = lengths.map(() => 0)
  let left = Math.max(0, room)
  for (const [done, i] of order.entries()) {
    given[i] = Math.min(lengths[i]!, Math.floor(left / (order.length - done)))
    left -= given[i]!
  }
  return given
}

/** The text with control characters made visible; undefined for images and the like. */
export const visiblePage = (page: Tiddler): string | undefined =>
  hasText(page) ? visibleText(page.text ?? '') : undefined

export const hasText = ({ type = '' }: Tiddler): boolean =>
  !/^(image\/(?!svg)|audio\/|video\/|font\/)|^application\/(pdf|zip|octet-stream|epub|vnd\.|font|x-font)/.test(type)

/** `20260102030405000` as `2026-01-02 03:04 UTC`; another text as it is. */
function shownDate(date: string): string {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)/.exec(date) ?? []
  return year ? `${year}-${month}-${day} ${hour}:${minute} UTC` : line(date, 40)
}

/** Title, tags and date of a page on one line. */
export function headOf({ title, tags = [], modified, type }: Tiddler, ...more: readonly string[]): string {
  const facts = [
    ...(tags.length > 0 ? [`tags: ${line(tags.slice(0, 20).join(', '), 120)}`] : []),
    ...(type ? [line(type, 60)] : []),
    ...(modified ? [`modified ${shownDate(modified)}`] : []),
    ...more,
  ]
  return facts.length > 0 ? `${quoted(title)} (${facts.join('; ')})` : quoted(title)
}

function endWithin(text: string, from: number, most: number): number {
  const end = from + Math.max(1, most)
  if (!/[\uD800-\uDBFF]/.test(text[end - 1] ?? '')) return end
  return end - 1 > from ? end - 1 : end + 1
}
