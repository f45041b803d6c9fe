/** JSON that is equal for equal values: names sorted at every level, what JSON leaves out left out. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner) => (isRecord(inner) ? sorted(inner) : inner)) ?? 'null'
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function sorted(record: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(record).sort()
  // Without a prototype: a field may be called `__proto__`.
  const copy: Record<string, unknown> = Object.create(null)
  for (const name of names) copy[name] = record[name]
  return copy
}
