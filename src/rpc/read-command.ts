import type { ZotImage } from './frames.ts'
import type { RpcImage } from './host.ts'
import type { InputLine } from './read-lines.ts'

/** A parsed command line: its type and id, and its unchecked fields. */
export interface Envelope {
  readonly type: string
  readonly id: string | undefined
  readonly fields: Readonly<Record<string, unknown>>
}

/** Parses a line; undefined for a blank one. */
export function readEnvelope(line: InputLine): Envelope | { readonly malformed: string } | undefined {
  if ('problem' in line) return { malformed: line.problem }
  const text = line.text.trim()
  if (text === '') return undefined
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch (error) {
    return { malformed: error instanceof Error ? error.message : 'it cannot be read' }
  }
  if (!isRecord(fields)) return { malformed: `expected an object, got ${kindOf(fields)}` }
  const { type = '', id } = fields
  if (typeof type !== 'string') return { malformed: `type must be a string, got ${kindOf(type)}` }
  if (typeof id !== 'string' && id !== undefined && id !== null)
    return { malformed: `id must be a string, got ${kindOf(id)}` }
  return { type, id: id || undefined, fields }
}

/** The message and images of a prompt. Throws, with a text for the client, if both are missing or have wrong types. */
export function readPrompt({ message: given, images }: Envelope['fields']): { message: string; images: RpcImage[] } {
  const message = given ?? ''
  if (typeof message !== 'string') throw new TypeError(`message must be a string, got ${kindOf(message)}`)
  if (images !== undefined && images !== null && !Array.isArray(images))
    throw new TypeError(`images must be a list, got ${kindOf(images)}`)
  const readImages = Array.isArray(images) ? images.map(readImage) : []
  if (message.trim() === '' && readImages.length === 0) throw new TypeError('a prompt needs a message or images')
  return { message, images: readImages }
}

function readImage(image: unknown, i: number): RpcImage {
  const { mime_type, data } = (isRecord(image) ? image : {}) as { [Key in keyof ZotImage]?: unknown }
  if (typeof mime_type !== 'string' || mime_type === '' || typeof data !== 'string')
    throw new TypeError(`image ${i} must be { mime_type, data } with base64 data`)
  if (data === '' || data.length % 4 !== 0 || !base64.test(data))
    throw new TypeError(`image ${i}: data is not valid base64`)
  return { mimeType: mime_type, data }
}

/** Linear time, for megabytes of data. */
const base64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The name that `set_model` gives. */
export function readModel({ model }: Envelope['fields']): string {
  if (typeof model !== 'string') throw new TypeError(`model must be a string, got ${kindOf(model)}`)
  return model
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
