import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { projectSettings, protectedReads } from '../../src/authority/rules/protected-paths.ts'
import type { Confinement, ExecResult, SandboxProfile } from '../../src/core/execution.ts'
import { createProcessContext, type ProcessContextOptions } from '../../src/execution/process.ts'
import { createFileSnapshots } from '../../src/snapshots/file-snapshots.ts'
import type { Attack, Leak } from './attack.ts'
import { leaksOf, stateOf } from './leaks.ts'
import { createScene, runAsPerson, type Scene } from './scene.ts'

/** Runs the line of an attack in its scene; returns what it showed. */
export type Attempt = (line: string, scene: Scene, cwd: string) => Promise<string>

/** Tries an attack in a scene of its own: what it achieved. */
export async function tryAttack(attack: Attack, attempt: Attempt = unconfined): Promise<readonly Leak[]> {
  const scene = await createScene()
  try {
    if (attack.setup !== undefined) runAsPerson(scene, attack.setup)
    const cwd = scene.fill(attack.cwd ?? '@WORK')
    const before = stateOf(scene, cwd)
    const output = await attempt(scene.fill(attack.line), scene, cwd)
    const isSnapshot = attack.snapshot && attempt !== unconfined
    const later = isSnapshot ? () => takeSnapshots(scene, cwd) : attack.later && personRuns(scene, attack.later)
    return await leaksOf(scene, { before, cwd, output, later })
  } finally {
    if (attack.cleanup !== undefined) runAsPerson(scene, attack.cleanup)
    await scene.close()
  }
}

const personRuns = (scene: Scene, line: string) => () => runAsPerson(scene, line).output

/** Two, because the first one may lead the second one astray. */
function takeSnapshots(scene: Scene, cwd: string): Promise<string> {
  return withEnv(scene.env, async () => {
    const execution = createProcessContext({ cwd })
    const handle = await execution.spawn()
    const files = createFileSnapshots({ execution, handle, store: join(scene.home, '.libero/snapshots') })
    const taken = [await files.take({ owner: scene.id }), await files.take({ owner: scene.id })]
    await execution.destroy(handle)
    return JSON.stringify(taken)
  })
}

const unconfined: Attempt = async (line, { env }, cwd) => shown(await runLine(line, { cwd, env }))

/** Runs it by the execution context with what the confinement allows. */
export const confined =
  (confinementFor: (cwd: string, scene: Scene) => Confinement): Attempt =>
  async (line, scene, cwd) =>
    shown(await runLine(line, { cwd, env: scene.env, confinement: confinementFor(cwd, scene) }))

const shown = ({ stdout, stderr }: ExecResult): string => `${stdout}${stderr}`

export interface LineOptions {
  readonly cwd: string
  /** Of this process while the line runs: contexts read it. */
  readonly env: Readonly<Record<string, string>>
  readonly confinement?: Confinement | undefined
  readonly context?: ProcessContextOptions
}

/** Runs a line by the process context. */
export async function runLine(line: string, { cwd, env, confinement, context }: LineOptions): Promise<ExecResult> {
  return withEnv(env, async () => {
    const execution = createProcessContext({ ...context, cwd })
    const handle = await execution.spawn()
    try {
      return await execution.exec(handle, line, { timeout: 30_000, ...(confinement && { confinement }) })
    } finally {
      await execution.destroy(handle)
    }
  })
}

/** The confinement that the authority gives to a line in this workspace without any rule. */
export function plainConfinement(
  profile: SandboxProfile,
  root: string,
  { hidden = [], ...more }: Partial<Confinement> = {},
): Confinement {
  const names = protectedReads.filter((name) => !projectSettings.includes(name))
  const secrets = names.flatMap((name) => [`${root}/${name}`, `${root}/*/${name}`])
  return { profile, reads: [], writes: [], hidden: [...secrets, ...hidden], hosts: [], home: 'empty', ...more }
}

/** The programs that are not on this machine. */
export function missingPrograms(needs: readonly string[] = [], path = process.env.PATH ?? ''): string[] {
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !folder.includes('node_modules'))
  return needs.filter((program) => !folders.some((folder) => isExecutable(join(folder, program))))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Sets variables of this process meanwhile. Not for several at once: the environment belongs to the whole process. */
export async function withEnv<T>(env: Readonly<Record<string, string>>, use: () => Promise<T>): Promise<T> {
  const old = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]))
  Object.assign(process.env, env)
  try {
    return await use()
  } finally {
    for (const [name, value] of Object.entries(old))
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}
