import { show } from './behavior.ts'
import { wellFormed } from './tool-output.ts'
import type { PromptPart, SessionContentBlock } from './turn.ts'

/** The blocks of a prompt, copied and checked; `undefined` when there is none. */
export function readPrompt(prompt: unknown, images: unknown = []): SessionContentBlock[] | undefined {
  if (!Array.isArray(images)) throw new TypeError(`images must be a list of { mediaType, data }, got ${show(images)}`)
  const shown = images.map((image, i) => readPart({ ...image, type: 'image' }, `images[${i}]`))
  const said = readSaid(prompt)
  if (said === undefined && shown.length === 0) return undefined
  return [...(said ?? []), ...shown]
}

function readSaid(prompt: unknown): SessionContentBlock[] | undefined {
  if (prompt === undefined) return undefined
  if (typeof prompt === 'string') {
    if (prompt === '') throw new TypeError('The prompt is empty; say something, or leave it out to resume a session')
    return [{ type: 'text', text: wellFormed(prompt) }]
  }
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw new TypeError(`prompt must be a text or a list of parts such as { type: 'text', text }, got ${show(prompt)}`)
  return prompt.map((part, i) => readPart(part, `prompt[${i}]`))
}

function readPart(part: unknown, where: string): PromptPart {
  const { type, text, mediaType, data, name } = (part ?? {}) as Record<string, unknown>
  if (type === 'text' && typeof text === 'string') return { type, text: wellFormed(text) }
  const isMedia = (type === 'image' || type === 'document') && typeof mediaType === 'string' && typeof data === 'string'
  if (isMedia && type === 'image') return { type, mediaType, data }
  if (isMedia) return { type: 'document', mediaType, data, ...(typeof name === 'string' && { name }) }
  throw new TypeError(
    `${where} must be { type: 'text', text }, or { type: 'image' | 'document', mediaType, data } with base64 data, got ${show(part)}`,
  )
}
