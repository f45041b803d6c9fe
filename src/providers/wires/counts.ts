/** The first count of tokens that says something: services write numbers in several places, or zeros, or nonsense. */
export function countOf(...values: readonly unknown[]): number | undefined {
  const counts = values.filter((value): value is number => Number.isFinite(value) && (value as number) >= 0)
  return counts.find((count) => count > 0) ?? counts[0]
}
