import { fileURLToPath } from 'node:url'
import { attachedText } from '../chat/attached-text.ts'
import type { OutgoingMessage } from '../chat/chat.ts'
import type { PromptPart } from '../core/turn.ts'
import { visibleName } from '../platform/visible-text.ts'
import { AcpError } from './acp-error.ts'
import type { ContentBlock } from './protocol.ts'

/** The message that a prompt of a client is: texts and links as one text, images and embedded resources as parts. */
export function promptMessage(prompt: readonly ContentBlock[]): OutgoingMessage {
  const parts = prompt.map(partOf)
  const inline = parts.filter((part) => typeof part === 'string')
  const text = inline.join('')
  const others = parts.filter((part) => typeof part !== 'string')
  if (text.trim() === '' && others.length === 0)
    throw new AcpError('invalid', 'The prompt is empty; send a text, an image or a resource')
  if (others.length === 0) return { text }
  return { text, parts: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...others] }
}

function partOf(block: ContentBlock): string | PromptPart {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
      return { type: 'image', mediaType: imageType(block.mimeType), data: base64(block.data, 'image') }
    case 'resource_link':
      return `[@${label(block.name)}](${pathOf(block.uri)})`
    case 'resource':
      return resourcePart(block.resource)
    case 'audio':
      throw new AcpError('invalid', 'Audio is not supported here; send text, images or resources')
  }
}

function resourcePart(resource: Extract<ContentBlock, { type: 'resource' }>['resource']): PromptPart {
  const path = pathOf(resource.uri)
  if ('text' in resource) return { type: 'text', text: attachedText(visibleName(path), resource.text) }
  const { mimeType: mediaType = '', blob } = resource
  if (mediaType?.startsWith('image/'))
    return { type: 'image', mediaType: imageType(mediaType), data: base64(blob, 'resource') }
  if (mediaType === 'application/pdf')
    return { type: 'document', mediaType, data: base64(blob, 'resource'), name: visibleName(path) }
  return { type: 'text', text: `[${visibleName(path)}: ${visibleName(mediaType || 'binary data')}, not shown]` }
}

/** Files are named by their paths, as tools take them; other addresses stay. */
function pathOf(uri: string): string {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : uri
  } catch {
    return uri // of another machine
  }
}

const label = (name: string): string => visibleName(name).replace(/[[\]]/g, '').slice(0, 200)

function imageType(mediaType: string): string {
  if (/^image\/[\w.+-]+$/.test(mediaType)) return mediaType
  throw new AcpError('invalid', `${JSON.stringify(mediaType.slice(0, 100))} is no type of an image; use image/png`)
}

function base64(data: string, what: string): string {
  if (data !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(data)) return data
  throw new AcpError('invalid', `The data of the ${what} must be base64`)
}
