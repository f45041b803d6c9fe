import type { AuditRecord } from '../../core/authority.ts'
import { digestOf } from '../../platform/digest.ts'
import type { Redactor } from '../../platform/redact.ts'

/**
 * A record as it may be written: plain data of bounded size that shares nothing with the original, without secrets.
 * Names and places stay as they are, and so do references to secrets (`$NAME`). A text that is cut keeps its digest.
 */
export function fitForAudit(record: AuditRecord, redactor: Redactor): Readonly<Record<string, unknown>> {
  const room = { characters: mostCharacters, values: mostValues }
  const fields = redactor.json(bounded(record, room, redactor, 1)) as Record<string, unknown>
  const redactions = JSON.stringify(fields).match(/\[REDACTED:\d+\]/g)?.length ?? 0
  return redactions > 0 ? { ...fields, redactions } : fields
}

/** Of one text, of all of them together, and of values of any kind. */
const longest = 4_096
const mostCharacters = 64 * 1024
const mostValues = 2_000
const deepest = 20

/** No secret is longer, so that one that begins in what is kept is seen whole. */
const longestSecret = 24 * 1024

interface Room {
  characters: number
  values: number
}

function bounded(value: unknown, room: Room, redactor: Redactor, depth: number): unknown {
  if (typeof value === 'string') return boundedText(value, room, redactor)
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (value instanceof Error) return boundedText(`${value.name}: ${value.message}`, room, redactor)
  if (value instanceof Date) return String(value.getTime())
  if (typeof value === 'function' || typeof value === 'symbol') return undefined
  if (typeof value !== 'object' || value === null) return value
  if (depth > deepest) return '[too deep to be kept]'
  const entries = Object.entries(value)
  const kept = entries.slice(0, Math.max(room.values, 0))
  room.values -= kept.length
  const inner = kept.map(([name, one]) => [boundedText(name, room, redactor), bounded(one, room, redactor, depth + 1)])
  const left = entries.length - kept.length
  if (Array.isArray(value)) {
    const list = inner.map(([, one]) => one)
    return left > 0 ? [...list, `[${left} more]`] : list
  }
  return Object.fromEntries(left > 0 ? [...inner, ['…', `[${left} more]`]] : inner)
}

function boundedText(text: string, room: Room, redactor: Redactor): string {
  const most = Math.min(longest, Math.max(room.characters, 0))
  room.characters -= Math.min(text.length, most)
  if (text.length <= most) return text
  const pieces = [text.slice(0, most), text.slice(most, most + longestSecret)]
  const [head = ''] = redactor.pieces(pieces)
  return `${head.toWellFormed()}… [${text.length} characters, sha256 ${digestOf(text)}]`
}
