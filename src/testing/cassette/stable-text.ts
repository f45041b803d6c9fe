/** JSON with sorted keys: equal text for equal data, in whatever order it was put together. */
export function stableText(value: unknown, indent?: number): string {
  return JSON.stringify(sorted(value), null, indent) ?? 'null'
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const source = value as Record<string, unknown>
  return Object.fromEntries(
    Object.keys(source)
      .sort()
      .map((key) => [key, sorted(source[key])]),
  )
}
