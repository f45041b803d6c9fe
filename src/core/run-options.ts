import { checkBehavior, isBehavior, show } from './behavior.ts'
import { isRecord } from './is-record.ts'
import { didYouMean } from './nearest.ts'
import { wellFormed } from './plain-json.ts'
import type { RunOptions } from './run.ts'
import { isThinkingLevel } from './thinking.ts'
import type { PromptPart, SessionContentBlock } from './turn.ts'

/** Throws on an unknown option or an invalid value; the message says what would be valid. */
export function checkRunOptions(options: unknown): asserts options is RunOptions {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`run() takes an object such as { prompt: '…' }, got ${show(options)}`)
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(rules, name))
      throw new TypeError(
        `run() has no option "${name}"${isBehavior(name) ? `; it is behavior.${name}` : didYouMean(name, Object.keys(rules))}`,
      )
    const rule = rules[name as keyof RunOptions]
    if (value !== undefined && rule && !rule[0](value))
      throw new TypeError(`run() option "${name}" must be ${rule[1]}, got ${show(value)}`)
  }
  checkBehavior((options as RunOptions).behavior, 'run() option behavior')
}

export const isRunOption = (name: string): boolean => Object.hasOwn(rules, name)

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string]
const text: Rule = [(value) => typeof value === 'string', 'a text']
const record: Rule = [isRecord, 'an object']

/** Options without a rule are checked where they are read. */
const rules: Record<keyof RunOptions, Rule | undefined> = {
  prompt: undefined,
  images: undefined,
  tools: undefined,
  behavior: undefined,
  meta: undefined,
  model: [(value) => typeof value === 'string' && value !== '', 'the name of a model'],
  system: text,
  thinking: [isThinkingLevel, '"off", "minimal", "low", "medium", "high" or "adaptive"'],
  signal: [(value) => value instanceof AbortSignal, 'an AbortSignal'],
  hooks: record,
  clientKey: [(value) => typeof value === 'string' && value !== '', 'a text that names this prompt'],
}

/** Checks a prompt and turns it into blocks; `undefined` if there is none. */
export function parsePrompt(prompt: unknown, images: unknown = []): SessionContentBlock[] | undefined {
  if (!Array.isArray(images)) throw new TypeError(`images must be a list of { mediaType, data }, got ${show(images)}`)
  const imageBlocks = images.map((image, i) => parsePart({ ...image, type: 'image' }, `images[${i}]`))
  const blocks = parseBlocks(prompt)
  if (blocks === undefined && imageBlocks.length === 0) return undefined
  return [...(blocks ?? []), ...imageBlocks]
}

function parseBlocks(prompt: unknown): SessionContentBlock[] | undefined {
  if (prompt === undefined) return undefined
  if (typeof prompt === 'string') {
    if (prompt === '') throw new TypeError('The prompt is empty; say something, or leave it out to resume a session')
    return [{ type: 'text', text: wellFormed(prompt) }]
  }
  if (!Array.isArray(prompt) || prompt.length === 0)
    throw new TypeError(`prompt must be a text or a list of parts such as { type: 'text', text }, got ${show(prompt)}`)
  const parts = prompt
    .map((part, i) => parsePart(part, `prompt[${i}]`))
    .filter((part) => part.type !== 'text' || part.text !== '')
  if (parts.length === 0) throw new TypeError('The prompt is empty; say something, or leave it out to resume a session')
  return parts
}

function parsePart(part: unknown, where: string): PromptPart {
  const { type, text, mediaType, data, name } = (part ?? {}) as Record<string, unknown>
  if (type === 'text' && typeof text === 'string') return { type, text: wellFormed(text) }
  const isMedia = (type === 'image' || type === 'document') && typeof mediaType === 'string' && typeof data === 'string'
  if (isMedia && type === 'image') return { type, mediaType, data }
  if (isMedia) return { type: 'document', mediaType, data, ...(typeof name === 'string' && { name }) }
  throw new TypeError(
    `${where} must be { type: 'text', text }, or { type: 'image' | 'document', mediaType, data } with base64 data, got ${show(part)}`,
  )
}
