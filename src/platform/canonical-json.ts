import { isRecord } from '../core/is-record.ts'
import { digestOf } from './digest.ts'

/** JSON that is equal for equal values: names sorted at every level, what JSON leaves out left out. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (isRecord(inner) ? sorted(inner) : inner)) ?? 'null'
}

/** SHA-256 over that: equal values have one digest. */
export function digestOfJson(value: unknown): string {
  return digestOf(canonicalJson(value))
}

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(record).sort()
  // Without a prototype: a field may be called `__proto__`.
  const copy: Record<string, unknown> = Object.create(null)
  for (const name of names) copy[name] = record[name]
  return copy
}
