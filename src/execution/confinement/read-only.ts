import { lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { type Confinement, type ExecOptions, type ExecResult, noSandbox } from '../../core/execution.ts'
import { type KeeperRegistration, registerWithKeeper } from '../../platform/process-keeper.ts'
import type { Bubblewrap } from '../bubblewrap/check.ts'
import { createPrivateFolder, type PrivateFolder } from '../bubblewrap/private-folder.ts'
import { createProcessCgroup, type ProcessCgroup } from '../bubblewrap/process-cgroup.ts'
import { seccompFilter } from '../bubblewrap/seccomp.ts'
import type { CommandLimits } from '../commands/command-shell.ts'
import { fileError } from '../files/confined-path.ts'
import { startCoveredShell } from './covered-shell.ts'
import { sandboxEnv } from './environment.ts'
import type { FactFinder, PlaceOptions, Sight } from './facts.ts'
import { readOnlyFiles } from './profile.ts'
import { sandboxLimits } from './sandbox-limits.ts'
import type { ShellLayout } from './sandbox-shell.ts'
import { createSpares } from './spares.ts'

type Variables = Readonly<Record<string, string>>

export interface CommandSetting extends PlaceOptions {
  readonly env: readonly (Variables | undefined)[]
  readonly inheritEnv: readonly string[]
  readonly limits: CommandLimits | undefined
}

/** Commands in sandboxes in which nothing can be written, without a network. */
export interface ReadOnlyCommands {
  run(command: string, sight: Pick<Confinement, 'reads' | 'hidden'>, options: ExecOptions): Promise<ExecResult>
  /** Removes its files; the commands must have ended. */
  end(): Promise<void>
}

export function createReadOnlyCommands(
  bubblewrap: Bubblewrap,
  setting: CommandSetting,
  facts: FactFinder,
): ReadOnlyCommands {
  const spares = createSpares()
  const all = sandboxLimits(setting.limits)
  const { processes, ...others } = all
  // `ulimit -u` does not apply to root.
  const isRoot = process.getuid?.() === 0
  const limits = isRoot ? others : all
  let group: ProcessCgroup | undefined
  let folder: PrivateFolder | undefined
  /** Keeps the keeper from the first command to the end: to start one for each sandbox would cost more. */
  let keeping: KeeperRegistration | undefined

  return {
    async run(command, { reads, hidden }, { env, programs, ...options }) {
      const cwd = resolve(setting.cwd, options.cwd ?? '')
      const layout = await readOnlyLayout(
        { reads, hidden, programs },
        { ...setting, env: [...setting.env, env] },
        facts,
      )
      options.signal?.throwIfAborted()
      const own = (folder ??= createPrivateFolder(seccompFilter()!))
      if (isRoot && processes !== undefined) group ??= createProcessCgroup(processes)
      const entrance = group?.entrance
      keeping ??= registerWithKeeper()
      const { shell, release } = await spares.take(kindOf(layout), () =>
        startCoveredShell({ bubblewrap, folder: own, layout, limits, entrance }),
      )
      const { result, report } = await shell.run(command, { ...options, cwd }).finally(release)
      if (report.hadNoFolder) throw noFolder(cwd)
      if (report.problem !== '')
        throw new Error(`The command was not started, the sandbox could not be made ready: ${report.problem}`)
      const { leftRunning } = report
      return { ...result, ...(leftRunning.length > 0 && { leftRunning }), sandbox: { profile: 'read-only' } }
    },

    async end() {
      await spares.end()
      keeping?.end()
      await folder?.remove()
      await group?.remove()
      folder = group = undefined
    },
  }
}

/** Such a sandbox at present. Rejects with `ENOSANDBOX` if it cannot be known what to hide. */
export async function readOnlyLayout(sight: Sight, setting: CommandSetting, facts: FactFinder): Promise<ShellLayout> {
  const { inheritEnv, env: added } = setting
  const found = await facts.find(sight).catch((error) => {
    throw noSandbox('process', 'read-only', messageOf(error))
  })
  const { path, home = '/tmp' } = found
  const env = sandboxEnv({ inheritEnv, added, path, home, profile: 'read-only' })
  return { ...readOnlyFiles(found), hostNetwork: false, env }
}

/**
 * The same for sandboxes that show the same. A mount keeps what was at a path when the sandbox was built, and a cover vanishes
 * with the file below it, so the files themselves count too.
 */
function kindOf(layout: ShellLayout): string {
  const shown = [...(layout.base ?? []).filter(({ how }) => how === 'read'), ...layout.hidden].map(({ path }) => path)
  return JSON.stringify([layout, [...layout.roots, ...shown].map(stampOf)])
}

/** The content of a folder is seen through a mount; of a file only the file that was mounted. */
function stampOf(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  if (!found) return ''
  const since = found.isDirectory() ? found.birthtimeNs : found.ctimeNs
  return `${found.dev}:${found.ino}:${since}`
}

function noFolder(cwd: string): Error {
  const message = `The working folder ${cwd} does not exist in the sandbox: it is missing, or outside of what the command may see; use a folder of the workspace`
  return fileError('ENOENT', message, cwd)
}
