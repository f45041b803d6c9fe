import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomKills } from './kills.ts'
import { inLanes } from './lanes.ts'
import { checkMutants, type Mutant, mutants } from './mutants.ts'
import { scenes } from './scenes.ts'
import { crashAt } from './sweep.ts'
import { type Found, Voyage } from './voyage.ts'

export interface HuntResult {
  readonly name: string
  /** Which layer found it; absent when none did. */
  readonly caughtBy?: string
  readonly by?: Found
}

/** Each mutant is let loose until it is first caught: where its bug should show, and else by chance. */
export async function hunt({
  lanes,
  seed,
  progress,
}: {
  lanes: number
  seed: number
  progress?: (line: string) => void
}): Promise<readonly HuntResult[]> {
  checkMutants()
  const results: HuntResult[] = []
  await inLanes(mutants, lanes, async (mutant) => {
    // Compiled code of its own: what is kept must never be taken for the real thing.
    const cache = mkdtempSync(join(tmpdir(), 'libero-crash-cache-'))
    try {
      const result = await catchOne(mutant, cache, seed)
      results.push(result)
      const how = result.by ? `caught by ${result.caughtBy}: ${result.by.id} ${result.by.what}` : 'NOT caught'
      progress?.(`mutant "${mutant.name}" ${how}`)
    } finally {
      rmSync(cache, { recursive: true, force: true })
    }
  })
  return results
}

async function catchOne({ name, points = [], scene }: Mutant, cache: string, seed: number): Promise<HuntResult> {
  const about = { kind: 'sqlite', cache, mutant: name } as const
  for (const [point, hit] of points) {
    const { found } = await crashAt({ name: point, hit }, about)
    if (found[0]) return caught(name, 'the sweep', found[0])
  }
  if (scene) {
    const voyage = new Voyage({ ...about, name: `scene "${scene}"` })
    await scenes[scene](voyage)
    voyage.close()
    if (voyage.found[0]) return caught(name, `the scene "${scene}"`, voyage.found[0])
  }
  const random = await randomKills({
    kinds: ['sqlite'],
    kills: 60,
    seed,
    cache,
    lanes: 1,
    mutant: name,
    stopsEarly: true,
  })
  return random.found[0] ? caught(name, 'random kills', random.found[0]) : { name }
}

/** A mutant that cannot even run is no bug that anybody could have had. */
function caught(name: string, caughtBy: string, by: Found): HuntResult {
  if (/(Syntax|Reference|Type)Error|fix the mutant/.test(by.what))
    throw new Error(`The mutant "${name}" does not work: ${by.what}`)
  return { name, caughtBy, by }
}
