import { execFileSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Confinement, ExecOptions, ExecResult } from '../src/core/execution.ts'
import { type ConfinedCommands, createConfinedCommands } from '../src/execution/confinement/engine.ts'
import { emptyFolder } from './bubblewrap-kit.ts'

export const readOnly: Confinement = {
  profile: 'read-only',
  reads: [],
  writes: [],
  hidden: [],
  hosts: [],
  home: 'empty',
}

export const workspaceWrite: Confinement = { ...readOnly, profile: 'workspace-write' }

export interface ConfinedPlace {
  /** Holds all of the following folders. */
  readonly top: string
  readonly home: string
  readonly cwd: string
  readonly outside: string
  readonly commands: ConfinedCommands
  run(command: string, how?: Partial<Confinement>, options?: ExecOptions): Promise<ExecResult>
}

interface PlaceOptions {
  readonly bwrap?: string
  /** The folder of another place, for a second workspace in it. */
  readonly top?: string
  /** Relative to the folder of the test. Default: `workspace`. */
  readonly cwd?: string
  /** What the user adds, below the folder of the test. */
  readonly added?: { readonly read?: readonly string[]; readonly caches?: readonly string[] }
}

/** A workspace, a home and a folder outside, each empty, and commands that are confined to the workspace. */
export async function confinedPlace({
  bwrap,
  cwd: name = 'workspace',
  top: given,
  added = {},
}: PlaceOptions = {}): Promise<ConfinedPlace> {
  const top = given ?? realpathSync(emptyFolder('confined-'))
  const [home, cwd, outside] = [join(top, 'home'), resolve(top, name), join(top, 'outside')]
  for (const folder of [home, cwd, outside]) mkdirSync(folder, { recursive: true })
  const inTop = (paths: readonly string[] = []): string[] => paths.map((path) => resolve(top, path))
  const setting = { cwd, roots: [], env: [], inheritEnv: [], limits: undefined, home }
  const commands = createConfinedCommands({
    ...{ ...setting, ...(bwrap && { bwrap }) },
    added: { read: inTop(added.read), caches: inTop(added.caches) },
  })
  onTestFinished(() => commands.end())
  return {
    ...{ top, home, cwd, outside, commands },
    run: (command, how, options = {}) => commands.run(command, { ...readOnly, ...how }, options),
  }
}

/** Writes files, given by their paths below a folder. */
export function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

/** Git as a person uses it, unconfined. */
export function git(cwd: string, ...args: string[]): string {
  const own = ['-c', 'user.name=n', '-c', 'user.email=n@example.org', '-c', 'init.defaultBranch=main']
  return execFileSync('git', [...own, ...args], {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: '/nonexistent' },
  })
}
