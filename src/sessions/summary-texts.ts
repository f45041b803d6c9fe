import type { SessionDetails } from '../core/store.ts'
import { headOf, oneLine } from '../core/text.ts'

/** The longest title. */
const maxTitleLength = 200
/** The longest tag, tenant, kind and folder, and the most tags, as `setDetails` takes them. */
const maxLength = 1000
const maxTags = 50

/** The beginning of the first text of a message, as a title; empty if it has none. Content of any shape is accepted. */
export function titleOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  let text = ''
  for (const block of content as readonly ({ readonly type?: unknown; readonly text?: unknown } | null)[]) {
    if (block?.type !== 'text' || typeof block.text !== 'string') continue
    // A prompt may be megabytes long, and may begin with many empty lines.
    const start = block.text.search(/[^\s\p{Cc}]/u)
    if (start >= 0) text += ` ${block.text.slice(start, start + 4 * maxTitleLength)}`
    if (text.length > 4 * maxTitleLength) break
  }
  return titleFrom(text)
}

/** A text as a title: on one line, without control characters and halves of surrogate pairs. */
export function titleFrom(text: string): string {
  return oneLine(text.replace(/\p{Cc}/gu, ' '), maxTitleLength).toWellFormed()
}

/**
 * A text that every store can keep and compare: well-formed, without the character 0, of bounded length. Details and the
 * filters of queries are both changed by it, so that they still match.
 */
export function plainText(text: string): string {
  return headOf(text, maxLength).toWellFormed().replaceAll('\0', '\ufffd')
}

/** The details of an entry, without those of a wrong type: an imported log may have any. */
export function readableDetails({ title, tags, ...texts }: SessionDetails): SessionDetails {
  const { tenant, kind, folder } = texts
  return {
    ...(isText(title) && titleFrom(title) !== '' && { title: titleFrom(title) }),
    ...(Array.isArray(tags) && { tags: [...new Set(tags.filter(isText).slice(0, maxTags).map(plainText))] }),
    ...(isText(tenant) && { tenant: plainText(tenant) }),
    ...(isText(kind) && { kind: plainText(kind) }),
    ...(isText(folder) && { folder: plainText(folder) }),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
