/**
 * The lines of a diff. Where a line is longer than `longest` and another takes its place, both begin shortly before the
 * first character that differs: so the change is seen although the line does not fit.
 */
export function* aroundChanges(lines: Iterable<string>, longest: number): Iterable<string> {
  /** What was removed and what takes its place. */
  let change: string[] = []
  let isAdding = false
  for (const line of lines) {
    const goesOn = line.startsWith('+') || line.startsWith('\\') || (line.startsWith('-') && !isAdding)
    if (!goesOn || change.length >= mostPaired) {
      yield* shortened(change, longest)
      change = []
    }
    isAdding = line.startsWith('+') || (line.startsWith('\\') && isAdding)
    change.push(line)
  }
  yield* shortened(change, longest)
}

/** A longer change is not held back. */
const mostPaired = 200
/** Shown of what stands before the change. */
const kept = 40

function shortened(change: string[], longest: number): string[] {
  if (change.every((line) => line.length <= longest)) return change
  const added = indexesOf(change, '+')
  for (const [i, before] of indexesOf(change, '-').entries()) {
    const after = added[i]
    if (after === undefined) break
    const [old = '', now = ''] = [change[before], change[after]]
    const cut = sameUntil(old, now) - kept
    if (cut < kept || Math.max(old.length, now.length) <= longest) continue
    for (const at of [before, after])
      change[at] = `${change[at]![0]}… (${cut - 1} characters as before) …${change[at]!.slice(cut)}`
  }
  return change
}

const indexesOf = (lines: readonly string[], sign: string): number[] =>
  lines.flatMap((line, i) => (line.startsWith(sign) ? [i] : []))

/** The first place after their signs at which two lines differ. */
function sameUntil(a: string, b: string): number {
  let at = 1
  while (at < a.length && a[at] === b[at]) at++
  return at
}
