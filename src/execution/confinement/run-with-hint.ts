import { resolve } from 'node:path'
import type { Confinement, ExecOptions, ExecResult } from '../../core/execution.ts'
import { protectsName } from '../bubblewrap/protected-paths.ts'
import { realPathOf } from '../files/confined-path.ts'
import type { PlaceOptions } from './facts.ts'
import { type HintFacts, sandboxHint } from './hint.ts'
import { repositoryOf } from './repository.ts'
import { systemPaths, toolchainsOf } from './shown-paths.ts'

interface HintedCommand {
  readonly command: string
  readonly confinement: Confinement
  /** The folder of the handle, further folders of the workspace, the home folder. */
  readonly place: PlaceOptions
  readonly options: ExecOptions
}

/** Runs a command in a sandbox; the result of a failure says what of it the sandbox may have caused. */
export async function runWithHint(
  { command, confinement, place, options }: HintedCommand,
  run: (options: ExecOptions) => Promise<ExecResult>,
): Promise<ExecResult> {
  const { onOutput } = options
  let output = ''
  const keep: ExecOptions['onOutput'] = (text, from) => {
    output = (output + text).slice(-mostKept)
    onOutput?.(text, from)
  }
  const result = await run({ ...options, ...(onOutput && { onOutput: keep }) })
  const { profile } = confinement
  if (result.exitCode === 0 || result.exitCode === null) return { ...result, sandbox: { profile } }
  if (!onOutput) output = `${result.stdout.slice(-mostKept)}\n${result.stderr.slice(-mostKept)}`
  const cwd = resolve(place.cwd, options.cwd ?? '')
  const hint = sandboxHint({ command, output }, { ...factsOf(place), confinement, cwd })
  return { ...result, sandbox: { profile, ...(hint !== undefined && { hint }) } }
}

function factsOf({ cwd, roots, home, added = {} }: PlaceOptions): Omit<HintFacts, 'confinement' | 'cwd'> {
  const workspace = bothSpellings([cwd, ...roots])
  const repositories = workspace.flatMap((root) => repositoryOf(root, home) ?? [])
  const { shown } = toolchainsOf(process.env.PATH ?? '', home, workspace)
  return {
    home,
    workspace,
    seen: bothSpellings([
      ...[...systemPaths(), ...shown, ...(added.read ?? []), ...(added.caches ?? [])],
      ...repositories.flatMap(({ outside }) => outside),
    ]),
    isProtected: (path) => workspace.some((root) => protectsName(root, path)),
  }
}

function bothSpellings(paths: readonly string[]): string[] {
  return [...new Set(paths.flatMap((path) => [path, realPathOf(path)]))]
}

const mostKept = 8192
