import { homedir } from 'node:os'
import { messageOf } from '../../core/errors.ts'
import {
  type Confinement,
  type ExecOptions,
  type ExecResult,
  noSandbox,
  type SandboxProfile,
  type SandboxSupport,
} from '../../core/execution.ts'
import { type Bubblewrap, findBubblewrap } from '../bubblewrap/check.ts'
import { RunningCommands } from '../commands/running-commands.ts'
import { realPathOf } from '../files/confined-path.ts'
import { createFactFinder } from './facts.ts'
import { probeSandbox } from './probe.ts'
import { type CommandSetting, createReadOnlyCommands, type ReadOnlyCommands } from './read-only.ts'
import { runWithHint } from './run-with-hint.ts'
import type { ScopedCommands } from './scoped-commands.ts'

export interface ConfinedCommandsOptions extends Omit<CommandSetting, 'home'> {
  /** Default: that of this user. */
  readonly home?: string
  /** The path of bubblewrap. Default: from a system folder. */
  readonly bwrap?: string
}

/** The commands of one handle that run in sandboxes of this machine. */
export interface ConfinedCommands {
  /** Which sandboxes there are, found out by trying. */
  support(): Promise<SandboxSupport>
  /** Rejects with `ENOSANDBOX`, before the command starts, if the confinement cannot be enforced. */
  run(command: string, confinement: Confinement, options: ExecOptions): Promise<ExecResult>
  /** Ends all running commands, and removes all files. */
  end(): Promise<void>
}

export function createConfinedCommands(options: ConfinedCommandsOptions): ConfinedCommands {
  const setting = { ...options, home: options.home ?? homedir() }
  const running = new RunningCommands()
  const facts = createFactFinder(setting)
  let readOnly: ReadOnlyCommands | undefined
  let scoped: ScopedCommands | undefined

  /** What builds sandboxes here; throws the reason if nothing does. */
  async function builder(profile: SandboxProfile = 'read-only'): Promise<Bubblewrap | 'seatbelt'> {
    const roots = [options.cwd, ...options.roots].map((root) => realPathOf(root))
    if (roots.includes('/'))
      throw new Error('the workspace is the root folder, and everything would be visible; work in a folder of its own')
    const found = process.platform === 'darwin' ? 'seatbelt' : await findBubblewrap(options.bwrap, roots)
    const problem = await (found === 'seatbelt' ? (await seatbelt()).probeSeatbelt() : probeSandbox(found))
    if (problem !== undefined) throw new Error(problem)
    // Only where something is to be written, because it takes as long as a command.
    const isOpen = profile === 'workspace-write' && found !== 'seatbelt' && (await probeSandbox(found, profile))
    if (isOpen) throw new Error(isOpen)
    return found
  }

  async function confined(command: string, confinement: Confinement, given: ExecOptions): Promise<ExecResult> {
    const { profile, hosts, home } = confinement
    const found = await builder(profile).catch((error) => {
      throw noSandbox('process', profile, messageOf(error))
    })
    given.signal?.throwIfAborted()
    return runWithHint({ command, confinement, place: setting, options: given }, async (options) => {
      if (found === 'seatbelt') {
        scoped ??= (await seatbelt()).createSeatbeltCommands(setting, facts)
        return scoped.run(command, confinement, options)
      }
      if (profile === 'read-only' && hosts.length === 0 && home === 'empty') {
        readOnly ??= createReadOnlyCommands(found, setting, facts)
        return readOnly.run(command, confinement, options)
      }
      const { createScopedCommands } = await import('./scoped-commands.ts')
      scoped ??= createScopedCommands(found, setting, facts)
      return scoped.run(command, confinement, options)
    })
  }

  return {
    async support() {
      try {
        const by = (await builder()) === 'seatbelt' ? 'seatbelt' : 'bubblewrap'
        return { profiles: ['read-only', 'workspace-write'], by }
      } catch (error) {
        return { profiles: [], why: messageOf(error) }
      }
    },

    run: (command, confinement, given) =>
      running.run(given.signal, (signal) => confined(command, confinement, { ...given, signal })),

    async end() {
      await running.end()
      await Promise.all([readOnly?.end(), scoped?.end()])
    },
  }
}

const seatbelt = () => import('./seatbelt-commands.ts')
