import { show } from '../../core/behavior.ts'
import type { Message, SessionContentBlock, ToolResultBlock } from '../../core/turn.ts'
import type { Fields } from './fields.ts'

/** A conversation that another program wrote down; `messages` are for `session.addTurns`. */
export interface ForeignTranscript {
  readonly messages: Message[]
  readonly meta: TranscriptMeta
  /** What was left out, by kind, with how often and where it was first. */
  readonly skipped: string[]
}

export interface TranscriptMeta {
  readonly id?: string
  readonly cwd?: string
  /** The model that spoke last. */
  readonly model?: string
  /** Milliseconds since the epoch. */
  readonly createdAt?: number
  readonly title?: string
}

export interface TranscriptLine {
  readonly fields: Fields
  readonly number: number
}

/** The lines of a transcript. One that cannot be read is an error, except the last: there the program was cut off. */
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
      throw new TypeError(`${program}: line ${number} of the transcript is no JSON object: ${show(line)}`)
    skipped.add('the last line, which is torn', number)
    return []
  })
}

function parse(line: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Counts what is left out. */
export class Skipped {
  readonly #kinds = new Map<string, { count: number; readonly first: number }>()

  add(kind: string, line: number): void {
    const known = this.#kinds.get(kind)
    if (known) known.count++
    else this.#kinds.set(kind, { count: 1, first: line })
  }

  get list(): string[] {
    return [...this.#kinds].map(([kind, { count, first }]) =>
      count === 1 ? `${kind} (line ${first})` : `${kind} (${count} times, first in line ${first})`,
    )
  }
}

/** Puts messages together; a result goes where it belongs, right after its call, whenever it comes. */
export class Messages {
  list: { role: Message['role']; content: SessionContentBlock[] }[] = []
  readonly #named = new Map<string, { role: Message['role']; content: SessionContentBlock[] }>()

  user(content: readonly SessionContentBlock[]): void {
    if (content.length > 0) this.list.push({ role: 'user', content: [...content] })
  }

  /** What has the same name is one message, though it was written down in pieces. */
  assistant(content: readonly SessionContentBlock[], name?: string): void {
    if (content.length === 0) return
    const known = name === undefined ? undefined : this.#named.get(name)
    if (known) {
      known.content.push(...content)
      return
    }
    const message = { role: 'assistant' as const, content: [...content] }
    this.list.push(message)
    if (name !== undefined) this.#named.set(name, message)
  }

  /** The same for what goes on with the message before it. */
  assistantGoesOn(content: readonly SessionContentBlock[]): void {
    const last = this.list.at(-1)
    if (last?.role === 'assistant') last.content.push(...content)
    else this.assistant(content)
  }

  result(block: ToolResultBlock): void {
    const at = this.list.findLastIndex(({ content }) =>
      content.some((one) => one.type === 'tool_call' && one.id === block.callId),
    )
    const next = at === -1 ? this.list.at(-1) : this.list[at + 1]
    if (next?.role !== 'user') {
      this.list.splice(at === -1 ? this.list.length : at + 1, 0, { role: 'user', content: [block] })
      return
    }
    const results = next.content.findLastIndex((one) => one.type === 'tool_result')
    next.content.splice(results + 1, 0, block)
  }
}

/** A field that is a text, or nothing. */
export function textIn(fields: Fields | undefined, key: string): string | undefined {
  const value = fields?.[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A time as programs write it: a date or milliseconds. */
export function timeIn(fields: Fields | undefined, key: string): number | undefined {
  const value = fields?.[key]
  const time = typeof value === 'string' ? Date.parse(value) : value
  return typeof time === 'number' && Number.isFinite(time) ? time : undefined
}

/** Without what nobody knows. */
export function metaOf(meta: { [key in keyof TranscriptMeta]: TranscriptMeta[key] | undefined }): TranscriptMeta {
  return Object.fromEntries(Object.entries(meta).filter(([, value]) => value !== undefined))
}
