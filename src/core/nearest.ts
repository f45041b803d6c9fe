/** The known names that are closest to a mistyped one, best first; if none is close, those that contain it. */
export function nearest(name: string, known: Iterable<string>, max = 3): string[] {
  const asked = name.toLowerCase().slice(0, 80)
  const scored: { candidate: string; distance: number }[] = []
  const longer: string[] = [] // `model` for `defaultModel`
  for (const candidate of known) {
    const distance = editDistance(asked, candidate.toLowerCase())
    if (distance <= Math.max(2, candidate.length * 0.4)) scored.push({ candidate, distance })
    else if (asked.length >= 4 && candidate.toLowerCase().includes(asked)) longer.push(candidate)
  }
  scored.sort((a, b) => a.distance - b.distance)
  return (scored.length > 0 ? scored.map(({ candidate }) => candidate) : longer).slice(0, max)
}

/** `", did you mean …?"`, or nothing. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const found = nearest(name, known)
  return found.length > 0 ? `, did you mean ${found.map((name) => `"${name}"`).join(' or ')}?` : ''
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
