/** How many lines a unified diff adds and removes. */
export function diffCounts(diff: string): { readonly added: number; readonly removed: number } {
  let [added, removed] = [0, 0]
  for (const line of diffBody(diff)) {
    if (line.startsWith('+')) added++
    if (line.startsWith('-')) removed++
  }
  return { added, removed }
}

/** The lines of a diff from the first hunk on; the caller names the file. */
export function diffBody(diff: string): string[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const first = lines.findIndex((line) => line.startsWith('@@'))
  return first < 0 ? lines.filter((line) => line !== '') : lines.slice(first)
}
