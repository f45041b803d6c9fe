import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isRoot, unavailable } from '../bubblewrap-kit.ts'
import { rounds, sampleOf } from '../soak.ts'
import { attacks } from './attacks.ts'
import { everydayLines } from './everyday.ts'
import type { SeenByUser } from './ordinary-user.ts'
import { scratchFolder } from './scene.ts'

const program = fileURLToPath(new URL('ordinary-user.ts', import.meta.url))
const uid = 1000
if (!isRoot) console.warn('NOT TESTED, the sandboxes of root: these tests are not run by root')

/** The other tests of this folder are run by the user who runs the tests, often root: this one is run by an ordinary user. */
test.skipIf(!isRoot || unavailable)(
  'W09 attacks and everyday lines of a sample end in the same way for an ordinary user as for root',
  { timeout: 3_600_000 },
  () => {
    const scratch = scratchFolder('user-')
    try {
      const home = `${scratch}/home`
      mkdirSync(home)
      for (const folder of [scratch, home]) chownSync(folder, uid, uid)
      const numbers = <T>(all: readonly T[], count: number): number[] =>
        sampleOf(all, count).map((one) => all.indexOf(one))
      const chosen = { attacks: numbers(attacks, 2), lines: numbers(everydayLines, 2) }
      const output = execFileSync(process.execPath, ['--conditions=libero-source', program, JSON.stringify(chosen)], {
        ...{ uid, gid: uid, encoding: 'utf8', cwd: home, maxBuffer: 2 ** 26 },
        env: { PATH: process.env.PATH, HOME: home, SCENES: scratch },
      })
      const seen: SeenByUser = JSON.parse(output)
      expect({ ...seen, counted: 0 }).toEqual({ uid, counted: 0, escaped: [], different: [], processes: '4096' })
      // Not every attack works for an ordinary user even without a sandbox.
      expect(seen.counted).toBeGreaterThanOrEqual(rounds(0, 81))
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
)
