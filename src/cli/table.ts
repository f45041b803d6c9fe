/** A table with a header; each row is followed by its own lines, indented. */
export function table<T>(
  header: readonly string[],
  items: readonly T[],
  { row, below }: { readonly row: (item: T) => readonly string[]; readonly below: (item: T) => readonly string[] },
): string[] {
  const rows = [header, ...items.map(row)]
  const widths = header.map((_, i) => Math.max(...rows.map((cells) => cells[i]!.length)))
  const lines = rows.map((cells) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
  return lines.flatMap((line, n) => [line, ...(n === 0 ? [] : below(items[n - 1]!).map((more) => `    ${more}`))])
}
