import { formatSize, type RemoteContent, type SessionContentBlock, withoutAttached } from '../libero.ts'

/** A file that goes with the next message. */
export interface Attached {
  readonly name: string
  readonly facts: string
  readonly part: Exclude<RemoteContent, string>[number]
}

const mostBytes = 5_000_000
const mostText = 200_000
const imageTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Reads files: images as images, text as text, PDF as documents. The rest is refused, with a sentence for each. */
export async function readFiles(files: Iterable<File>): Promise<{ read: Attached[]; problems: string[] }> {
  const read: Attached[] = []
  const problems: string[] = []
  for (const file of files) {
    const attached = await readFile(file)
    if (typeof attached === 'string') problems.push(attached)
    else read.push(attached)
  }
  return { read, problems }
}

async function readFile(file: File): Promise<Attached | string> {
  const name = file.name || 'pasted image'
  if (file.size > mostBytes)
    return `${name} has ${formatSize(file.size)}; at most ${formatSize(mostBytes)} can be attached.`
  const bytes = new Uint8Array(await file.arrayBuffer())
  const facts = formatSize(file.size)
  if (imageTypes.has(file.type))
    return { name, facts, part: { type: 'image', mediaType: file.type, data: base64(bytes) } }
  if (file.type === 'application/pdf')
    return { name, facts, part: { type: 'document', mediaType: file.type, data: base64(bytes), name } }
  const text = textOf(bytes)
  if (text === undefined) return `${name} is neither text nor an image nor a PDF, so no model could read it.`
  if (text.length > mostText)
    return `${name} has ${formatSize(file.size)} of text; put it into the folder of the session and name it with @.`
  return { name, facts, part: { type: 'text', text: `File ${name}:\n\n${text}` } }
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function base64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
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
