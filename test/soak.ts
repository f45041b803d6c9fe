/**
 * Long sweeps: `npm test` takes a part of each, another part each time; `npm run soak` takes them whole. A test that does
 * so names in its failure what it took.
 */
const isSoak = process.env.LIBERO_SOAK === '1'

/** How many rounds a test makes: so many in `npm test`, all of them in `npm run soak`. */
export function rounds(sample: number, whole: number): number {
  return isSoak ? whole : sample
}

/** About `count` of the cases, spread over the list, others each time; all of them in `npm run soak`. */
export function sampleOf<Case>(cases: readonly Case[], count: number): readonly Case[] {
  if (isSoak || cases.length <= count) return cases
  const step = cases.length / count
  const start = Math.random() * step
  return Array.from({ length: count }, (_, i) => cases[Math.floor(start + i * step)]!)
}
