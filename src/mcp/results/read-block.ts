import { isRecord } from '../../core/is-record.ts'
import type { ImageBlock } from '../../core/turn.ts'
import {
  type ImageInfo,
  imageInfo,
  isBase64,
  isCompleteImage,
  maxImageBase64,
  maxImageSide,
} from '../../platform/image-info.ts'
import { fullyVisible, withoutHidden } from '../../platform/visible-text.ts'
import { cutBytes } from '../definitions/untrusted-data.ts'

/** The content of one block; `hidden` counts the characters removed from its text. */
export interface FoundBlock {
  readonly text: string
  readonly image?: ImageBlock
  readonly hidden: number
}

/** Reads a block of any form. Its annotations are ignored. */
export function readBlock(block: unknown): FoundBlock {
  if (!isRecord(block)) return note('a block that is none was left out')
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' ? textOf(block.text) : note('a text block without text was left out')
    case 'image':
      return mediaOf('image', block.data, block.mimeType)
    case 'audio':
      return note(`audio: ${typeOf(block.mimeType)}, ${sizeOf(block.data)}, which cannot be played here`)
    case 'resource_link':
      return linkOf(block)
    case 'resource':
      return resourceOf(block.resource)
    default:
      return note(`a block of the unknown type ${short(block.type)} was left out`)
  }
}

const note = (text: string): FoundBlock => ({ text: `[${text}]`, hidden: 0 })

function textOf(raw: string, before = ''): FoundBlock {
  const { text, hidden } = withoutHidden(raw)
  return { text: before + text, hidden }
}

function mediaOf(what: string, data: unknown, mimeType: unknown): FoundBlock {
  const read = readImage(data)
  if (read.image) return { text: '', image: read.image, hidden: 0 }
  return note(`${what}: ${typeOf(mimeType)}, ${sizeOf(data)}, left out: ${read.problem}`)
}

/** A link becomes text. It is not opened, because the server chose the address. */
function linkOf({ uri, name, title, mimeType, description }: Record<string, unknown>): FoundBlock {
  const label = typeof title === 'string' ? title : name
  const type = typeof mimeType === 'string' ? ` (${typeOf(mimeType)})` : ''
  const head = `[link: ${short(label)}${type} at ${short(uri, 2000)}; not opened]`
  return typeof description === 'string' ? textOf(cutBytes(description, 2000), `${head}\n`) : { text: head, hidden: 0 }
}

function resourceOf(resource: unknown): FoundBlock {
  if (!isRecord(resource)) return note('a resource that is none was left out')
  const { uri, mimeType, text, blob } = resource
  const what = `resource ${short(uri, 2000)}`
  if (typeof text === 'string') return textOf(text, `[${what}]\n`)
  const found = mediaOf(what, blob, mimeType)
  return found.image ? { ...found, text: `[${what}]` } : found
}

const typeOf = (value: unknown): string => (typeof value === 'string' ? fullyVisible(value.slice(0, 100)) : 'no type')

function sizeOf(data: unknown): string {
  return typeof data === 'string' ? `${Math.floor((data.length * 3) / 4)} bytes` : 'no data'
}

/** A quoted line without hidden characters. */
function short(value: unknown, most = 200): string {
  if (typeof value !== 'string') return '(nothing)'
  return `"${fullyVisible(value.slice(0, most).toWellFormed())}${value.length > most ? '…' : ''}"`
}

/** An image, its type read from its bytes; or why models cannot be shown it. */
function readImage(
  data: unknown,
): { readonly image: ImageBlock } | { readonly image?: undefined; readonly problem: string } {
  if (typeof data !== 'string' || data === '') return { problem: 'it has no data' }
  if (data.length > maxImageBase64 * 1.1) return tooLarge
  const base64 = data.replaceAll(/\s+/g, '')
  if (base64.length > maxImageBase64) return tooLarge
  const info = imageInfo(base64)
  if (!info || !isBase64(base64)) return { problem: 'it is no PNG, JPEG, GIF or WebP' }
  const bytes = Buffer.from(base64, 'base64')
  const { width = 0, height = 0 } = info.width === undefined ? (sizeBehindMetadata(bytes) ?? info) : info
  if (Math.max(width, height) > maxImageSide) return { problem: `more than ${maxImageSide} pixels a side` }
  if (!isCompleteImage(bytes, info)) return { problem: 'it is damaged or cut off' }
  return { image: { type: 'image', mediaType: info.type, data: base64 } }
}

const tooLarge = { problem: `larger than ${(maxImageBase64 / 4) * 3} bytes` }

/** The size of a JPEG that begins with large profiles, thumbnails or comments. */
function sizeBehindMetadata(bytes: Buffer): ImageInfo | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return undefined
  let at = 2
  while (at + 4 <= bytes.length && bytes[at] === 0xff && isMetadata(bytes[at + 1]!))
    at += 2 + bytes.readUInt16BE(at + 2)
  const rest = bytes.subarray(at, at + mostTables)
  return imageInfo(Buffer.concat([bytes.subarray(0, 2), rest]).toString('base64'))
}

const isMetadata = (marker: number): boolean => (marker >= 0xe0 && marker <= 0xef) || marker === 0xfe
const mostTables = 64_000
