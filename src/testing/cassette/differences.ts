import { createTwoFilesPatch } from 'diff'
import { AgentProviderError } from '../../core/errors.ts'
import { memoize } from '../../core/memoize.ts'
import { cutText } from '../../core/text.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { Message } from '../../core/turn.ts'
import { createRedactor } from '../../platform/redact.ts'
import { stableText, type TapedRequest } from './tape-items.ts'

/** The first field in which two requests differ, with both values. */
interface FieldDifference {
  readonly field: string
  readonly recorded: unknown
  readonly now: unknown
}

/** The first difference between a request and the recorded one; `undefined` if there is none. */
export function differenceOf(recorded: TapedRequest, now: TapedRequest): FieldDifference | undefined {
  if (recorded.model !== now.model) return { field: 'model', recorded: recorded.model, now: now.model }
  if (!matchesTape(recorded.system, now.system)) return { field: 'system', recorded: recorded.system, now: now.system }
  if (!isSame(recorded.settings, now.settings))
    return { field: 'settings', recorded: recorded.settings, now: now.settings }
  return (
    listDifference('tools', recorded.tools, now.tools) ?? listDifference('messages', recorded.messages, now.messages)
  )
}

/** A missing item is shown as empty. */
function listDifference(
  name: string,
  recorded: readonly object[],
  now: readonly object[],
): FieldDifference | undefined {
  for (let i = 0; i < Math.max(recorded.length, now.length); i++) {
    const [one, other] = [recorded[i], now[i]]
    if (one && other && isSameText(itemText(one), itemText(other))) continue
    const field = `${name}[${i}]`
    return { field, recorded: one && comparedItem(one), now: other && comparedItem(other) }
  }
  return undefined
}

const itemText = memoize((item: object) => stableText(comparedItem(item)))

/** Without the id and time of a turn, which no model sees. */
function comparedItem(item: object): object {
  if (!('role' in item)) return item as ToolSpec
  const { role, content } = item as Message
  return { role, content }
}

const isSame = (recorded: unknown, now: unknown): boolean => isSameText(stableText(recorded), stableText(now))

/** Compares data as JSON. A placeholder stands for a part of one string, never for several fields or messages. */
function isSameText(recorded: string, now: string): boolean {
  if (recorded === now) return true
  return recorded.includes('[REDACTED:') && isSameData(JSON.parse(recorded), JSON.parse(now))
}

function isSameData(recorded: unknown, now: unknown): boolean {
  if (typeof recorded === 'string' && typeof now === 'string') return matchesTape(recorded, now)
  if (typeof recorded !== 'object' || typeof now !== 'object' || !recorded || !now) return recorded === now
  if (Array.isArray(recorded) !== Array.isArray(now)) return false
  const left = new Map(Object.entries(now))
  for (const [key, value] of Object.entries(recorded)) {
    const name = left.has(key) ? key : [...left.keys()].find((other) => matchesTape(key, other))
    if (name === undefined || !isSameData(value, left.get(name))) return false
    left.delete(name)
  }
  return left.size === 0
}

/** Whether tool input is as recorded. */
export const isSameInput = isSame

/** A placeholder on the tape matches any text: it stands for a secret, which may differ. */
function matchesTape(recorded: string, now: string): boolean {
  if (recorded === now) return true
  if (!recorded.includes('[REDACTED:')) return false
  const parts = recorded.split(/\[REDACTED:\d+\]/)
  const [head = '', tail = ''] = [parts[0], parts.at(-1)]
  if (!now.startsWith(head) || !now.endsWith(tail) || now.length < head.length + tail.length) return false
  let at = head.length
  for (const part of parts.slice(1, -1)) {
    const found = now.indexOf(part, at + 1)
    if (found === -1) return false
    at = found + part.length
  }
  return at < now.length - tail.length
}

/** The error for a difference between replay and recording, with a diff. */
export function differenceError(
  what: string,
  { field, recorded, now }: FieldDifference,
  about: ConstructorParameters<typeof ReplayError>[1] = {},
): ReplayError {
  const before = linesOf(recorded)
  const after = maskedLike(before, linesOf(now))
  const line = firstDifference(before, after)
  const patch = createTwoFilesPatch('recorded', 'now', before, after, '', '', { context: 2 })
  const diff = shortened(patch.slice(patch.indexOf('---')))
  const message = `The replay differs from the recording at ${what}, in ${field}, line ${line}:\n${diff}`
  return new ReplayError(message, { ...about, field, line, diff })
}

/** Data as lines for a diff; strings keep their own line breaks. */
function linesOf(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : stableText(value, 2).replaceAll('\\n', '\n')
  return text.endsWith('\n') ? text : `${text}\n`
}

/** Masks the secrets of the new text like those of the recorded one, because the error is shown and logged. */
function maskedLike(recorded: string, now: string): string {
  const masked = recorded.split('\n').filter((line) => line.includes('[REDACTED:'))
  const around = masked.flatMap((line) => [...line.matchAll(/(.{1,16})(\[REDACTED:\d+\])(.|$)/g)])
  const lines = now
    .split('\n')
    .map((line) => masked.find((one) => matchesTape(one, line)) ?? maskedWithin(line, around))
  return createRedactor({ env: globalThis.process?.env ?? {} }).text(lines.join('\n'))
}

/** In a line that differs elsewhere, secrets are found between the same words as in the recorded line. */
function maskedWithin(line: string, around: readonly RegExpMatchArray[]): string {
  let masked = line
  for (const [, before = '', mask = '', after = ''] of around) {
    const start = masked.indexOf(before) + before.length
    if (start < before.length) continue
    const end = after === '' ? masked.length : masked.indexOf(after, start + 1)
    if (end > start) masked = masked.slice(0, start) + mask + masked.slice(end)
  }
  return masked
}

function firstDifference(a: string, b: string): number {
  const [one, other] = [a.split('\n'), b.split('\n')]
  const at = one.findIndex((line, i) => line !== other[i])
  return (at === -1 ? one.length : at) + 1
}

const maxLines = 40

function shortened(diff: string): string {
  const lines = diff.trimEnd().split('\n')
  const shown = lines.slice(0, maxLines).map((line) => cutText(line, 300))
  return lines.length > maxLines ? [...shown, `… ${lines.length - maxLines} more lines`].join('\n') : shown.join('\n')
}

/** A replay differs from its recording. It is a provider error, so that the run ends. */
export class ReplayError extends AgentProviderError {
  /** The number of the model request, from 1 as recorded; absent if the difference is not in one. */
  readonly step?: number
  /** `system`, `messages[3]`, `tools`, `settings`, `model`, or the input of a tool. */
  readonly field?: string
  /** The first line of the field that differs, counted from 1. */
  readonly line?: number
  /** A unified diff of the recorded and the new value. */
  readonly diff?: string
  constructor(
    message: string,
    { step, field, line, diff }: Pick<ReplayError, 'step' | 'field' | 'line' | 'diff'> = {},
  ) {
    super(message, { provider: 'replay', retryable: false })
    if (step !== undefined) this.step = step
    if (field !== undefined) this.field = field
    if (line !== undefined) this.line = line
    if (diff !== undefined) this.diff = diff
  }
}
