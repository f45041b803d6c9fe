import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkMutants, mutants } from './mutants.ts'
import { nothing, type PartOptions } from './part.ts'
import { parts } from './parts.ts'

export interface MutantResult {
  readonly name: string
  /** What was noticed; absent if nothing was. */
  readonly by?: string
}

/** Runs the part of each mutant with its bug. Parts that run a mutant report no times, for which a busy machine would do. */
export async function catchMutants(options: PartOptions): Promise<readonly MutantResult[]> {
  checkMutants()
  const results: MutantResult[] = []
  for (const { name, part, size = 0.15 } of mutants) {
    // A separate cache, because compiled code of a mutant must not be used elsewhere.
    const cache = mkdtempSync(join(tmpdir(), 'libero-fleet-cache-'))
    try {
      const small = { size, kills: 15, sessions: 60, cache, mutant: name, progress: () => {} }
      const { failures } = await parts[part]({ ...options, ...small }).catch((error: Error) => {
        options.progress(`mutant "${name}": ${part} broke: ${error.stack}`) // which shows nothing
        return nothing
      })
      const by = failures.length > 0 ? failures.join('; ') : undefined
      results.push({ name, ...(by !== undefined && { by }) })
      options.progress(`mutant "${name}" ${by === undefined ? 'NOT caught' : `caught by ${part}: ${by}`}`)
    } finally {
      rmSync(cache, { recursive: true, force: true })
    }
  }
  return results
}
