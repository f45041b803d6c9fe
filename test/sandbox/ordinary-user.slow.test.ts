import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isRoot, unavailable } from '../bubblewrap-kit.ts'
import { isSoak, sampleOf } from '../soak.ts'
import { attacks } from './attacks.ts'
import { everydayLines } from './everyday.ts'
import type { SeenByUser } from './ordinary-user.ts'
import { scratchFolder } from './scene.ts'

const program = fileURLToPath(new URL('ordinary-user.ts', import.meta.url))
const uid = 1000
if (!isRoot) console.warn('NOT TESTED, the sandboxes of root: these tests are not run by root')

/** Parts of the attacks: in `npm run soak` all of them, each tried by a process of its own, so that none takes long. */
const partCount = isSoak ? 12 : 1
const parts = Array.from({ length: partCount }, (_, part) => ({
  part: part + 1,
  attacks: numbers(attacks, 2).filter((n) => n % partCount === part),
  lines: numbers(everydayLines, 2).filter((n) => n % partCount === part),
}))

/** The other tests of this folder are run by the user who runs the tests, often root: this one is run by an ordinary user. */
test.skipIf(!isRoot || unavailable).each(parts)(
  `W09 attacks and everyday lines of a sample, part $part of ${partCount}, end in the same way for an ordinary user as for root`,
  { timeout: 3_600_000 },
  ({ part, ...chosen }) => {
    const scratch = scratchFolder('user-')
    try {
      const home = `${scratch}/home`
      mkdirSync(home)
      for (const folder of [scratch, home]) chownSync(folder, uid, uid)
      const output = execFileSync(process.execPath, ['--conditions=libero-source', program, JSON.stringify(chosen)], {
        ...{ uid, gid: uid, encoding: 'utf8', cwd: home, maxBuffer: 2 ** 26 },
        env: { PATH: process.env.PATH, HOME: home, SCENES: scratch },
      })
      const seen: SeenByUser = JSON.parse(output)
      if (isSoak) console.log(`part ${part}: ${chosen.attacks.length} attacks, ${chosen.lines.length} lines, ${output}`)
      expect({ ...seen, counted: 0 }).toEqual({ uid, counted: 0, escaped: [], different: [], processes: '4096' })
      // Not every attack works for an ordinary user even without a sandbox.
      if (isSoak) expect(seen.counted).toBeGreaterThan(chosen.attacks.length / 2)
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
)

function numbers<T>(all: readonly T[], count: number): number[] {
  return sampleOf(all, count).map((one) => all.indexOf(one))
}
