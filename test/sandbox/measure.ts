import type { AuthorityOptions } from '../../src/authority/authority.ts'
import type { Confinement } from '../../src/core/execution.ts'
import type { ProcessContextOptions } from '../../src/execution/process.ts'
import { runByAgent } from './agent.ts'
import type { Leak } from './attack.ts'
import type { attacks } from './attacks.ts'
import type { EverydayLine } from './everyday.ts'
import { type Attempt, confined, missingPrograms, plainConfinement, runLine, tryAttack } from './harness.ts'
import type { Project } from './project.ts'

type NamedAttack = (typeof attacks)[number]

/** Where an attack is tried: in a sandbox by the execution context, or by an agent whose person says no to every question. */
interface Place {
  readonly attempt: Attempt
  /** What is no attack there. */
  readonly permits: readonly Leak[]
  /** The home can be read, but for secrets. */
  readonly showsHome?: true
}

export type SetupName = 'read-only' | 'workspace-write' | 'yolo'

/** The confinements that the authority gives without any rule: by a mode, or by an approval. */
export const confinements: Readonly<Record<SetupName, (root: string) => Confinement>> = {
  'read-only': (root) => plainConfinement('read-only', root),
  'workspace-write': (root) => plainConfinement('workspace-write', root),
  yolo: (root) => plainConfinement('workspace-write', root, { hosts: 'any', home: 'readable' }),
}

/** An agent is to run it, whose person says no to every question. */
export const byAgent =
  (authority: AuthorityOptions, context: ProcessContextOptions = {}): Attempt =>
  async (line, { env }, cwd) => {
    const [asked] = await runByAgent([line], { cwd, env, authority, context })
    return asked!.runs.map(({ result }) => `${result?.stdout}${result?.stderr}`).join('')
  }

const open = { permits: ['workspace', 'sent'], showsHome: true } as const

export const places = {
  'read-only': { attempt: confined(confinements['read-only']), permits: [] },
  'workspace-write': { attempt: confined(confinements['workspace-write']), permits: ['workspace'] },
  yolo: { attempt: confined(confinements.yolo), ...open },
  'agent, plan': { attempt: byAgent({ mode: 'plan' }), permits: [] },
  'agent, ask': { attempt: byAgent({ mode: 'ask' }), permits: [] },
  'agent, allowlist': {
    attempt: byAgent({ mode: 'allowlist', allowlist: ['shell:make', 'shell:npm *', 'shell:git *', 'shell:ls'] }),
    permits: ['workspace'],
  },
  'agent, yolo': { attempt: byAgent({ mode: 'yolo' }), ...open },
  'agent, plan, no sandbox': { attempt: byAgent({ mode: 'plan' }, { sandbox: 'off' }), permits: [] },
  'agent, ask, no sandbox': { attempt: byAgent({ mode: 'ask' }, { sandbox: 'off' }), permits: [] },
} as const satisfies Record<string, Place>

export type PlaceName = keyof typeof places

export interface AttackRow {
  /** It had its effect without a sandbox, in this run: only then the rest says something. */
  readonly counts: boolean
  /** What it achieved in each place where it achieved something; not tried if it does not count. */
  readonly leaks: Readonly<Partial<Record<PlaceName, readonly Leak[]>>>
}

/** Tries an attack without a sandbox and, if it had its effect, in each of these places. */
export async function measureAttack(attack: NamedAttack, names: readonly PlaceName[]): Promise<AttackRow> {
  if (!(await tryAttack(attack)).includes(attack.leak)) return { counts: false, leaks: {} }
  const leaks: Partial<Record<PlaceName, readonly Leak[]>> = {}
  for (const name of names) {
    const { attempt, permits, showsHome }: Place = places[name]
    const isPermitted = (leak: Leak): boolean =>
      permits.includes(leak) || (leak === 'shown' && showsHome === true && attack.isPlainRead === true)
    const found = (await tryAttack(attack, attempt)).filter((leak) => !isPermitted(leak))
    if (found.length > 0) leaks[name] = found
  }
  return { counts: true, leaks }
}

/** Tries it in the narrowest sandbox that it gets past, with what a deny rule hides. */
export async function isStoppedByRule(attack: NamedAttack): Promise<boolean> {
  const { hidden = [] } = attack
  const withRule = confined((root, scene) =>
    plainConfinement('read-only', root, { hidden: hidden.map((path) => scene.fill(path)) }),
  )
  return (await tryAttack(attack, withRule)).length === 0
}

export interface EverydayRow {
  readonly line: EverydayLine
  /** Programs that are not on this machine; it was not run. */
  readonly missing: readonly string[]
  /** What is different in each sandbox; nothing where the exit code and stdout are the same. */
  readonly differences: Readonly<Partial<Record<SetupName, string>>>
}

/** Runs an everyday line plain and in each of these sandboxes. */
export async function measureEveryday(
  line: EverydayLine,
  project: Project,
  names: readonly SetupName[],
): Promise<EverydayRow> {
  const missing = missingPrograms(line.needs)
  if (missing.length > 0 || line.isJudgedOnly) return { line, missing, differences: {} }
  const env = line.readsHome ? { ...project.env, HOME: project.home } : project.env
  const run = async (confinement?: Confinement) => {
    const result = await runLine(project.fill(line.line), { cwd: project.cwd, env, confinement })
    if (line.isWriting) project.reset()
    return result
  }
  const plain = await run()
  const differences: Partial<Record<SetupName, string>> = {}
  for (const name of names) {
    const inside = await run(confinements[name](project.cwd))
    if (inside.exitCode === plain.exitCode && inside.stdout === plain.stdout) continue
    const shown = (text: string): string => JSON.stringify(text.slice(-200))
    differences[name] =
      `exit code ${plain.exitCode}, inside ${inside.exitCode}; ${shown(plain.stdout)}, inside ${shown(inside.stdout)}; ${shown(inside.stderr)}`
  }
  return { line, missing, differences }
}
