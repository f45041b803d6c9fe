import { toList } from '../../sessions/postgres/values.ts'

/** A statement with its values in place of its parameters. Literals have no type of their own, as the parameters of other drivers. */
export function inlined(text: string, values: readonly unknown[]): string {
  const literals = values.map(toLiteral)
  return text.replace(/\$(\d+)/g, (_, n) => literals[Number(n) - 1]!)
}

export function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = Array.isArray(value) ? toList(value.map(String)) : String(value)
  return `'${text.replaceAll("'", "''")}'`
}
