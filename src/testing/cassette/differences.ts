import { createTwoFilesPatch } from 'diff'
import { memoize } from '../../core/memoize.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { Message } from '../../core/turn.ts'
import { createRedactor } from '../../platform/redact.ts'
import { type Difference, ReplayError } from './replay-error.ts'
import { stableText } from './stable-text.ts'
import type { TapedRequest } from './tape-items.ts'

/** The first field in which two requests differ, with both sides as data. */
interface Found {
  readonly field: string
  readonly recorded: unknown
  readonly now: unknown
}

/** Where a request is not the recorded one; `undefined` where it is. */
export function differenceOf(recorded: TapedRequest, now: TapedRequest): Found | undefined {
  if (recorded.model !== now.model) return { field: 'model', recorded: recorded.model, now: now.model }
  if (!isAsTaped(recorded.system, now.system)) return { field: 'system', recorded: recorded.system, now: now.system }
  if (!isSame(recorded.settings, now.settings))
    return { field: 'settings', recorded: recorded.settings, now: now.settings }
  return (
    listDifference('tools', recorded.tools, now.tools) ?? listDifference('messages', recorded.messages, now.messages)
  )
}

/** A missing item is told as nothing. */
function listDifference(name: string, recorded: readonly object[], now: readonly object[]): Found | undefined {
  for (let i = 0; i < Math.max(recorded.length, now.length); i++) {
    const [one, other] = [recorded[i], now[i]]
    if (one && other && isSameText(itemText(one), itemText(other))) continue
    const field = `${name}[${i}]`
    return { field, recorded: one && shownItem(one), now: other && shownItem(other) }
  }
  return undefined
}

const itemText = memoize((item: object) => stableText(shownItem(item)))

/** A turn of a session has an id and a time of its own, which no model sees. */
function shownItem(item: object): object {
  if (!('role' in item)) return item as ToolSpec
  const { role, content } = item as Message
  return { role, content }
}

const isSame = (recorded: unknown, now: unknown): boolean => isSameText(stableText(recorded), stableText(now))

/** Of data as JSON. A placeholder stands for a part of one text in it, never for several fields or messages. */
function isSameText(recorded: string, now: string): boolean {
  if (recorded === now) return true
  return recorded.includes('[REDACTED:') && isSameData(JSON.parse(recorded), JSON.parse(now))
}

function isSameData(recorded: unknown, now: unknown): boolean {
  if (typeof recorded === 'string' && typeof now === 'string') return isAsTaped(recorded, now)
  if (typeof recorded !== 'object' || typeof now !== 'object' || !recorded || !now) return recorded === now
  if (Array.isArray(recorded) !== Array.isArray(now)) return false
  const left = new Map(Object.entries(now))
  for (const [key, value] of Object.entries(recorded)) {
    const name = left.has(key) ? key : [...left.keys()].find((other) => isAsTaped(key, other))
    if (name === undefined || !isSameData(value, left.get(name))) return false
    left.delete(name)
  }
  return left.size === 0
}

/** Whether tool input is as recorded. */
export const isSameInput = isSame

/** Where the tape has a placeholder, there may be any text: it stands for a secret that is not the same everywhere. */
export function isAsTaped(recorded: string, now: string): boolean {
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

/** Says where a replay left the tape, so that one sees at a glance what was changed. */
export function differs(what: string, { field, recorded, now }: Found, about: Difference = {}): ReplayError {
  const before = linesOf(recorded)
  const after = maskedLike(before, linesOf(now))
  const line = firstDifference(before, after)
  const patch = createTwoFilesPatch('recorded', 'now', before, after, '', '', { context: 2 })
  const diff = cut(patch.slice(patch.indexOf('---')))
  const message = `The replay differs from the recording at ${what}, in ${field}, line ${line}:\n${diff}`
  return new ReplayError(message, { ...about, field, line, diff })
}

/** Data as lines that a person can compare; texts keep their own lines. */
function linesOf(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : stableText(value, 2).replaceAll('\\n', '\n')
  return text.endsWith('\n') ? text : `${text}\n`
}

/** A line that differs in its secrets only is no difference; and an error is shown and logged, so it has none. */
function maskedLike(recorded: string, now: string): string {
  const masked = recorded.split('\n').filter((line) => line.includes('[REDACTED:'))
  const around = masked.flatMap((line) => [...line.matchAll(/(.{1,16})(\[REDACTED:\d+\])(.|$)/g)])
  const lines = now.split('\n').map((line) => masked.find((one) => isAsTaped(one, line)) ?? maskedWithin(line, around))
  return createRedactor({ env: globalThis.process?.env ?? {} }).text(lines.join('\n'))
}

/** A line that differs elsewhere has its secrets where the recorded one has them: between the same words. */
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

const mostLines = 40

function cut(diff: string): string {
  const lines = diff.trimEnd().split('\n')
  const shown = lines.slice(0, mostLines).map((line) => (line.length > 300 ? `${line.slice(0, 300)}…` : line))
  return lines.length > mostLines ? [...shown, `… ${lines.length - mostLines} more lines`].join('\n') : shown.join('\n')
}
