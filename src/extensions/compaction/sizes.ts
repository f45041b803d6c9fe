import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'

/** The size of a part of a request. */
export interface Size {
  /** Bytes of text, with its wrapping. */
  readonly text: number
  /** Bytes of images and documents, as they are sent. */
  readonly media: number
  /** Bytes of images and documents that the model reads: services scale images down. */
  readonly shown: number
}

/** More than any service counts for an image. */
const mostOfImage = 20_000

/** The total size of messages. Sizes of single messages are cached. */
export function sizeOfAll(messages: readonly Message[]): Size {
  return total(messages.map(sizeOf))
}

/** The size of system prompt and tools. */
export function overheadOf({ system, tools }: Pick<ModelRequest, 'system' | 'tools'>): number {
  return bytesOf(system) + toolsBytes(tools)
}

/** The size of a block. Also works for malformed blocks of foreign logs. */
export const sizeOfBlock = memoize((block: SessionContentBlock): Size => {
  switch (block.type) {
    case 'text':
      return text(bytesOf(block.text) + jsonBytes(block.providerData))
    case 'image':
    case 'document':
      return mediaOf(block)
    case 'tool_result':
      return sizeOfOutput(block.output)
    default:
      return text(jsonBytes(block)) // thinking is sent back with all its data
  }
})

/** UTF-8 bytes of a text; 0 for other values. */
export const bytesOf = (value: unknown): number => (typeof value === 'string' ? toolOutputByteLength(value) : 0)

const sizeOf = memoize(({ content }: Message): Size => total(content.map(sizeOfBlock)))

function total(sizes: readonly Size[]): Size {
  let [text, media, shown] = [0, 0, 0]
  for (const size of sizes) {
    text += size.text
    media += size.media
    shown += size.shown
  }
  return { text, media, shown }
}

/** The approximate size of the JSON around a block. */
const wrapping = 32
const text = (bytes: number): Size => ({ text: bytes + wrapping, media: 0, shown: 0 })

function sizeOfOutput(output: unknown): Size {
  if (!Array.isArray(output)) return text(typeof output === 'string' ? bytesOf(output) : jsonBytes(output))
  const parts = output.map((part) => (part?.type === 'text' ? text(bytesOf(part.text)) : mediaOf(part)))
  return total([text(0), ...parts])
}

function mediaOf(part: { readonly type: string; readonly data?: unknown } | null): Size {
  const media = bytesOf(part?.data)
  return { text: wrapping, media, shown: part?.type === 'image' ? Math.min(media, mostOfImage) : media }
}

const toolsBytes = memoize((tools: ModelRequest['tools']): number => jsonBytes(tools))

function jsonBytes(value: unknown): number {
  if (value === undefined) return 0
  try {
    return bytesOf(JSON.stringify(value))
  } catch {
    return 0
  }
}
