import { isRecord } from '../core/is-record.ts'
import { digestOf } from './digest.ts'

/** JSON that is equal for equal values: keys are sorted at every level. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (isRecord(inner) ? sorted(inner) : inner)) ?? 'null'
}

/** The SHA-256 of the canonical JSON. */
export function digestOfJson(value: unknown): string {
  return digestOf(canonicalJson(value))
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(record).sort()
  // Without a prototype, because a field may be called `__proto__`.
  const copy: Record<string, unknown> = Object.create(null)
  for (const name of names) copy[name] = record[name]
  return copy
}
