import { isRecord } from '../../core/is-record.ts'
import { byteLength, headBytes, tailBytes } from '../../core/text.ts'
import type { ImageBlock, ToolOutput, ToolResultContent } from '../../core/turn.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'
import {
  type ImageInfo,
  imageInfo,
  isBase64,
  isCompleteImage,
  maxImageBase64,
  maxImageSide,
} from '../../platform/image-info.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible, withoutHidden } from '../../platform/visible-text.ts'
import { cutBytes, withoutPrototypeKeys } from '../definitions/untrusted-data.ts'

export interface McpToolResult {
  readonly output: ToolOutput
  readonly isError: boolean
  /** For screens: the server and tool, `structuredContent` if it is small enough, and how many characters were removed. */
  readonly details?: unknown
}

interface McpToolResultSource {
  readonly server: string
  readonly tool: string
  /** Removed from errors: a server that fails may repeat its credentials. */
  readonly secrets?: readonly string[]
}

/**
 * The answer of a server as a tool result. Text is bounded and loses its invisible characters; the type of an image is
 * read from its bytes; links are not followed.
 */
export function toToolResult(result: unknown, from: McpToolResultSource): McpToolResult {
  const { server, tool, secrets } = from
  if (!isResult(result))
    return {
      output: `The MCP server "${server}" gave no result for the tool "${tool}", but something that is none. It may have done what was asked; look before you try again.`,
      isError: true,
      details: { server, tool },
    }
  const all = Array.isArray(result.content) ? (result.content as readonly unknown[]) : []
  const blocks = all.slice(0, resultLimits.blocks)
  const isError = result.isError === true
  // Secrets are removed before a cut could split one.
  const redactor = isError && secrets ? createRedactor({ secrets }) : undefined
  const safe = (text: string): string => redactor?.text(text) ?? text
  const found = blocks.map(readBlock).map((block) => ({ ...block, text: safe(block.text) }))
  if (all.length > resultLimits.blocks)
    found.push({ text: `[${all.length - resultLimits.blocks} more blocks left out]`, hidden: 0 })
  const structured = readStructured(result.structuredContent)
  if (structured && !isRepeatedAsText(structured.json, blocks)) found.push(withoutHidden(safe(structured.json)))

  const hidden = found.reduce((sum, one) => sum + one.hidden, 0)
  const parts = shortenTexts(withoutExcess(found, resultLimits.images), resultLimits.textBytes)
  if (hidden > 0) parts.push({ type: 'text', text: `[${hidden} invisible characters were taken out]` })
  const isKept = structured?.value !== undefined && structured.json.length <= resultLimits.textBytes
  const details = {
    ...{ server, tool },
    ...(isKept && { structuredContent: structured.value }),
    ...(hidden > 0 && { hidden }),
  }
  return { output: outputOf(parts), isError, details: redactor?.json(details) ?? details }
}

function isResult(result: unknown): result is Record<string, unknown> {
  if (!isRecord(result)) return false
  return Array.isArray(result.content) || (result.content === undefined && result.structuredContent !== undefined)
}

/** A safe copy of `structuredContent`, and its text. `null` counts as content. */
function readStructured(value: unknown): { readonly value: unknown; readonly json: string } | undefined {
  if (value === undefined) return undefined
  const leftOut = { value: undefined, json: '[structured content left out: it is too large or too deep]' }
  return withoutPrototypeKeys(value) ?? leftOut
}

/** Whether a text block repeats the structured content, as the protocol recommends. */
function isRepeatedAsText(json: string, blocks: readonly unknown[]): boolean {
  const wanted = canonicalJson(readJson(json))
  return blocks.some((block) => {
    if (!isRecord(block) || block.type !== 'text' || typeof block.text !== 'string') return false
    const repeated = withoutPrototypeKeys(readJson(block.text))
    return repeated !== undefined && canonicalJson(repeated.value) === wanted
  })
}

/** A text that is no JSON is returned as it is. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function withoutExcess(found: readonly FoundBlock[], mostImages: number): ToolResultContent[] {
  let images = 0
  return found.flatMap(({ text, image }): ToolResultContent[] => {
    const parts: ToolResultContent[] = text === '' ? [] : [{ type: 'text', text }]
    if (!image) return parts
    images++
    if (images <= mostImages) return [...parts, image]
    return [...parts, { type: 'text', text: `[image ${images} left out: ${mostImages} are allowed in one result]` }]
  })
}

function outputOf(parts: readonly ToolResultContent[]): ToolOutput {
  if (parts.length === 0) return '(no output)'
  const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []))
  return texts.length === parts.length ? texts.join('\n') : parts
}

/** How much of a server's answer reaches the model. */
const resultLimits = { textBytes: 256 * 1024, images: 20, blocks: 1000 }

/** Cuts the text of all parts to `most` bytes: its beginning, a mark with the size of the gap, and its end. */
function shortenTexts(parts: readonly ToolResultContent[], most: number): ToolResultContent[] {
  const sizes = parts.map((part) => (part.type === 'text' ? byteLength(part.text) : 0))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total <= most) return [...parts]
  const tailFrom = total - Math.floor(most / 4)
  const headTo = most - Math.floor(most / 4)
  const mark = `[… ${total - most} of ${total} bytes of text left out here …]`
  let isMarked = false
  let at = 0
  return parts.flatMap((part, i): ToolResultContent[] => {
    if (part.type !== 'text') return [part]
    const from = at
    at += sizes[i]!
    if (at <= headTo || from >= tailFrom) return [part]
    const head = from < headTo ? headBytes(part.text, headTo - from).toWellFormed() : ''
    const tail = at > tailFrom ? tailBytes(part.text, at - tailFrom) : ''
    const shown = [head, isMarked ? '' : mark, tail].filter((text) => text !== '')
    isMarked = true
    return shown.length === 0 ? [] : [{ type: 'text', text: shown.join('\n') }]
  })
}

/** The content of one block; `hidden` counts the characters removed from its text. */
interface FoundBlock {
  readonly text: string
  readonly image?: ImageBlock
  readonly hidden: number
}

/** Reads a block of any form. Its annotations are ignored. */
function readBlock(block: unknown): FoundBlock {
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
