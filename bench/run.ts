import { writeFileSync } from 'node:fs'
import { loop } from './loop.ts'
import type { Result } from './measure.ts'

/** Each part measures against a floor of its own, in this very process. */
const parts: Record<string, () => Promise<Result[]>> = { loop }

console.log(
  `Node ${process.version}. Ratios to a hand-written floor, median of interleaved rounds; smaller is better.\n`,
)
const only = process.argv[2]
const results: Result[] = []
for (const [name, part] of Object.entries(parts)) {
  if (only !== undefined && only !== name) continue
  console.log(`${name}:`)
  results.push(...(await part()))
}
if (only === undefined) writeFileSync(new URL('results.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`)
console.log(`\nbench: ${results.filter(({ ok }) => ok).length} of ${results.length} goals met`)
