/** A program of its own, run by another user: tries attacks and everyday lines by their numbers; prints what went wrong. */
import { attacks } from './attacks.ts'
import { everydayLines } from './everyday.ts'
import { missingPrograms, plainConfinement, runLine } from './harness.ts'
import { measureAttack, measureEveryday, type PlaceName } from './measure.ts'
import { createProject } from './project.ts'
import { machinePath } from './scene.ts'

/** What this program prints. */
export interface SeenByUser {
  readonly uid: number | undefined
  /** Attacks that had their effect without a sandbox. */
  readonly counted: number
  readonly escaped: readonly string[]
  readonly different: readonly string[]
  /** How many processes a command may have that writes the workspace. */
  readonly processes: string
}

const profiles = ['read-only', 'workspace-write'] as const
const tried: readonly PlaceName[] = [...profiles, 'yolo', 'agent, ask']
const { attacks: chosen, lines }: { attacks: readonly number[]; lines: readonly number[] } = JSON.parse(
  process.argv[2]!,
)
const escaped: string[] = []
let counted = 0
for (const attack of chosen.map((n) => attacks[n]!)) {
  if (attack.known || missingPrograms(attack.needs, machinePath).length > 0) continue
  const { counts, leaks } = await measureAttack(attack, tried)
  if (counts) counted++
  for (const [place, found] of Object.entries(leaks))
    escaped.push(`${attack.class}, ${attack.name}: ${found.join(', ')} in ${place}`)
}
const different: string[] = []
const project = await createProject('repository')
for (const line of lines.map((n) => everydayLines[n]!)) {
  const { differences, missing } = await measureEveryday(line, project, profiles)
  if (missing.length > 0 || line.isJudgedOnly) continue
  for (const profile of profiles)
    if (differences[profile] !== undefined && line.differs?.[profile] === undefined)
      different.push(`${line.line} in ${profile}: ${differences[profile]}`)
}
const { stdout } = await runLine('ulimit -u', {
  ...project,
  confinement: plainConfinement('workspace-write', project.cwd),
})
await project.close()
const seen: SeenByUser = { uid: process.getuid?.(), counted, escaped, different, processes: stdout.trim() }
console.log(JSON.stringify(seen))
