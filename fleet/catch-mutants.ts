import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkMutants, type Mutant, mutants } from './mutants.ts'
import type { PartOptions } from './part.ts'
import { parts } from './parts.ts'

export interface MutantResult {
  readonly name: string
  /** What was noticed; absent if nothing was. */
  readonly by?: string
}

/** Whether a kill or a pause meets the moment at which a bug does harm is chance, so a part is run up to this many times. */
const maxTries = 3

/** Runs the part of each mutant with its bug until it notices the bug. */
export async function catchMutants(options: PartOptions): Promise<readonly MutantResult[]> {
  checkMutants()
  const results: MutantResult[] = []
  for (const mutant of mutants) {
    const { name, part } = mutant
    let by: string | undefined
    let tries = 0
    while (by === undefined && tries < maxTries) {
      tries++
      by = await catchOnce(mutant, options)
    }
    results.push({ name, ...(by !== undefined && { by }) })
    const inTries = tries > 1 ? ` in try ${tries}` : ''
    options.progress(
      `mutant "${name}" ${by === undefined ? `NOT caught in ${tries} tries` : `caught${inTries} by ${part}: ${by}`}`,
    )
  }
  return results
}

/** What the part of a mutant notices. A part that runs a mutant reports no times, for which a busy machine would do. */
async function catchOnce({ name, part, size = 0.15 }: Mutant, options: PartOptions): Promise<string | undefined> {
  // A separate cache, because compiled code of a mutant must not be used elsewhere.
  const cache = mkdtempSync(join(tmpdir(), 'libero-fleet-cache-'))
  try {
    const small = { size, kills: 15, sessions: 60, cache, mutant: name, progress: () => {} }
    const { failures } = await parts[part]({ ...options, ...small })
    return failures.length > 0 ? failures.join('; ') : undefined
  } catch (error) {
    options.progress(`mutant "${name}": ${part} broke: ${(error as Error).stack}`) // which shows nothing
    return undefined
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
}
