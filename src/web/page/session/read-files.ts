import { formatSize } from '../libero.ts'
import type { Attached } from './attached-files.ts'

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
