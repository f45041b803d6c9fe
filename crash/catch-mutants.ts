import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomKills } from './kills.ts'
import { inParallel } from './lanes.ts'
import { checkMutants, type Mutant, mutants } from './mutants.ts'
import { scenes } from './scenes.ts'
import { crashAt } from './sweep.ts'
import { type Found, Trial } from './trial.ts'

export interface MutantResult {
  readonly name: string
  /** The part that detected it; absent if none did. */
  readonly caughtBy?: string
  readonly by?: Found
}

/** Runs each mutant until it is detected: first where its bug should show, then by random kills. */
export async function catchMutants({
  lanes,
  seed,
  progress,
}: {
  lanes: number
  seed: number
  progress?: (line: string) => void
}): Promise<readonly MutantResult[]> {
  checkMutants()
  const results: MutantResult[] = []
  await inParallel(mutants, lanes, async (mutant) => {
    // A separate cache, because compiled code of a mutant must not be used elsewhere.
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

async function catchOne(mutant: Mutant, cache: string, seed: number): Promise<MutantResult> {
  const { name, points = [], scene, kind = 'sqlite' } = mutant
  const settings = { kind, cache, mutant: name }
  for (const [point, hit] of points) {
    const { found } = await crashAt({ name: point, hit }, settings)
    if (found[0]) return caught(name, 'the sweep', found[0])
  }
  if (scene) {
    const trial = new Trial({ ...settings, name: `scene "${scene}"` })
    await scenes[scene](trial)
    trial.close()
    if (trial.found[0]) return caught(name, `the scene "${scene}"`, trial.found[0])
  }
  const random = await randomKills({
    kinds: [kind],
    kills: 60,
    seed,
    cache,
    lanes: 1,
    mutant: name,
    stopsEarly: true,
  })
  return random.found[0] ? caught(name, 'random kills', random.found[0]) : { name }
}

/** A mutant that cannot run at all is an error of the harness. */
function caught(name: string, caughtBy: string, by: Found): MutantResult {
  if (/(Syntax|Reference|Type)Error|fix the mutant/.test(by.what))
    throw new Error(`The mutant "${name}" does not work: ${by.what}`)
  return { name, caughtBy, by }
}
