import { formatSize, type RemoteContent, type SessionContentBlock, withoutAttached } from '../libero.ts'

/** A file that goes with the next message. */
export interface Attached {
  readonly name: string
  readonly facts: string
  readonly part: Exclude<RemoteContent, string>[number]
}

/** The content of a message: its text, and what is attached behind it. */
export function contentOf(text: string, attached: readonly Attached[]): RemoteContent {
  if (attached.length === 0) return text
  return [...(text === '' ? [] : [{ type: 'text', text } as const]), ...attached.map(({ part }) => part)]
}

/** A message for the message field again: its text, and what was attached by hand. */
export function takenApart(content: RemoteContent | readonly SessionContentBlock[]): {
  readonly text: string
  readonly attached: readonly Attached[]
} {
  if (typeof content === 'string') return { text: content, attached: [] }
  const texts: string[] = []
  const attached: Attached[] = []
  for (const [i, part] of withoutAttached(content as Exclude<RemoteContent, string>).entries()) {
    const name = nameOf(part, i)
    if (name !== undefined) attached.push({ name, facts: formatSize(sizeOf(part)), part })
    else if (part.type === 'text') texts.push(part.text)
  }
  return { text: texts.join('\n'), attached }
}

/** Undefined for what the person wrote: the first text is always taken for it. */
function nameOf(part: Attached['part'], place: number): string | undefined {
  if (part.type === 'text') return place === 0 ? undefined : /^File ([^\n]+):\n\n/.exec(part.text)?.[1]
  return part.type === 'document' ? (part.name ?? 'document') : part.type
}

const sizeOf = (part: Attached['part']): number =>
  part.type === 'text' ? part.text.length : Math.floor((part.data.length * 3) / 4)

/** What the person wrote, without the files that the server attached to it. */
export function writtenText(content: readonly SessionContentBlock[]): string {
  return withoutAttached(content)
    .flatMap((block) => (block.type === 'text' ? [block.text] : []))
    .join('\n')
}
