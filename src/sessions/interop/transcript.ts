import { show } from '../../core/behavior.ts'
import { isRecord } from '../../core/is-record.ts'
import { flawOf, maxNesting } from '../../core/plain-json.ts'
import type { Message, SessionContentBlock, ToolResultBlock } from '../../core/turn.ts'

/** A conversation recorded by another program; `messages` are for `session.addTurns`. */
export interface ForeignTranscript {
  readonly messages: Message[]
  readonly meta: TranscriptMeta
  /** What was left out, by kind, with its count and first line. */
  readonly skipped: string[]
}

interface TranscriptMeta {
  readonly id?: string
  readonly cwd?: string
  /** The last model that replied. */
  readonly model?: string
  /** Milliseconds since the epoch. */
  readonly createdAt?: number
  readonly title?: string
}

export interface TranscriptLine {
  readonly fields: Fields
  readonly number: number
}

/** The lines of a transcript. An unreadable line is an error, except the last one, which a crash may have cut off. */
export function readLines(jsonl: string, program: string, skipped: Skipped): TranscriptLine[] {
  if (typeof jsonl !== 'string') throw new TypeError(`${program}: a transcript is a text of lines, got ${show(jsonl)}`)
  const lines = jsonl.split('\n')
  while (lines.length > 0 && lines.at(-1)?.trim() === '') lines.pop()
  return lines.flatMap((line, i) => {
    if (line.trim() === '') return []
    const number = i + 1
    const fields = parse(line)
    if (fields) return [{ fields, number }]
    if (number < lines.length)
      throw new TypeError(`${program}: line ${number} of the transcript is not a JSON object: ${show(line)}`)
    skipped.add('the last line, which is torn', number)
    return []
  })
}

function parse(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Counts what is left out. */
export class Skipped {
  readonly #kinds = new Map<string, { count: number; readonly first: number }>()

  add(kind: string, line: number): void {
    const existing = this.#kinds.get(kind)
    if (existing) existing.count++
    else this.#kinds.set(kind, { count: 1, first: line })
  }

  get list(): string[] {
    return [...this.#kinds].map(([kind, { count, first }]) =>
      count === 1 ? `${kind} (line ${first})` : `${kind} (${count} times, first in line ${first})`,
    )
  }
}

/** Collects messages; a result is inserted right after its call, whenever it comes. */
export class Messages {
  list: { role: Message['role']; content: SessionContentBlock[] }[] = []
  readonly #named = new Map<string, { role: Message['role']; content: SessionContentBlock[] }>()

  user(content: readonly SessionContentBlock[]): void {
    if (content.length > 0) this.list.push({ role: 'user', content: [...content] })
  }

  /** Pieces with the same name form one message. */
  assistant(content: readonly SessionContentBlock[], name?: string): void {
    if (content.length === 0) return
    const existing = name === undefined ? undefined : this.#named.get(name)
    if (existing) {
      existing.content.push(...content)
      return
    }
    const message = { role: 'assistant' as const, content: [...content] }
    this.list.push(message)
    if (name !== undefined) this.#named.set(name, message)
  }

  /** Adds to the previous message if it is an assistant message. */
  continueAssistant(content: readonly SessionContentBlock[]): void {
    const last = this.list.at(-1)
    if (last?.role === 'assistant') last.content.push(...content)
    else this.assistant(content)
  }

  result(block: ToolResultBlock): void {
    const at = this.list.findLastIndex(({ content }) =>
      content.some((other) => other.type === 'tool_call' && other.id === block.callId),
    )
    const next = at === -1 ? this.list.at(-1) : this.list[at + 1]
    if (next?.role !== 'user') {
      this.list.splice(at === -1 ? this.list.length : at + 1, 0, { role: 'user', content: [block] })
      return
    }
    const results = next.content.findLastIndex((other) => other.type === 'tool_result')
    next.content.splice(results + 1, 0, block)
  }
}

/** A field that is a text which is not empty. */
export function textIn(fields: Fields | undefined, key: string): string | undefined {
  const value = fields?.[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A time given as a date or in milliseconds. */
export function timeIn(fields: Fields | undefined, key: string): number | undefined {
  const value = fields?.[key]
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isFinite(time) ? time : undefined
}

/** Drops unknown values. */
export function metaOf(meta: { [key in keyof TranscriptMeta]: TranscriptMeta[key] | undefined }): TranscriptMeta {
  return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined))
}

/** An object of foreign data that is not checked yet. */
export type Fields = Readonly<Record<string, unknown>>

/** The roles a canonical or an Anthropic message may have. */
export const canonicalRoles: readonly string[] = ['user', 'assistant']

/** The canonical block types, for error messages. */
export const canonicalTypes = 'text, image, document, thinking, tool_call or tool_result'

/** Throws unless the value is a list of messages with known roles. */
export function requireMessages(messages: unknown, roles: readonly string[]): void {
  for (const [i, message] of requireList(messages, 'messages', 'an array of messages').entries()) {
    const { role } = requireObject(message, `messages[${i}]`)
    if (!roles.some((accepted) => accepted === role)) fail(`messages[${i}].role`, role, roles.join(', '))
  }
}

/** The value as a list; throws a TypeError that names its path. */
export function requireList(value: unknown, at: string, accepted: string): readonly unknown[] {
  return Array.isArray(value) ? value : fail(at, value, accepted)
}

/** The value as an object; throws a TypeError that names its path. */
export function requireObject(value: unknown, at: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(at, value, 'an object')
  return value as Fields
}

/** A field that must be a string. */
export function requireText(fields: Fields, key: string, at: string): string {
  const value = fields[key]
  return typeof value === 'string' ? value : fail(`${at}.${key}`, value, 'a string')
}

/** An optional field under its new name; null counts as missing. */
export function optionalText<K extends string>(
  fields: Fields,
  key: string,
  name: K,
  at: string,
): { [name in K]?: string } {
  if (fields[key] === undefined || fields[key] === null) return {}
  return { [name]: requireText(fields, key, at) } as { [name in K]?: string }
}

/** Tool arguments: a JSON object of limited depth. */
export function requireInput(value: unknown, at: string): Record<string, unknown> {
  const input = requireObject(value, at)
  return flawOf(input) === 'too deep' ? fail(at, input, `an object nested at most ${maxNesting} deep`) : input
}

/** Throws a TypeError with the path, the value found and what is accepted. */
export function fail(at: string, found: unknown, accepted: string): never {
  throw new TypeError(`${at}: found ${show(found)}, accepted: ${accepted}`)
}
