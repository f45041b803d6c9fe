import { homedir } from 'node:os'
import { codeOf, messageOf } from '../../core/errors.ts'
import {
  type Confinement,
  type ExecOptions,
  type ExecResult,
  noSandbox,
  type SandboxProfile,
  type SandboxSupport,
} from '../../core/execution.ts'
import { type Bubblewrap, findBubblewrap, NoSandboxHere } from '../bubblewrap/check.ts'
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
  /** Which sandboxes there are, found out by trying; never rejects. */
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

  // Once: a command could put a link in the place of a root, to a folder for which there is no sandbox.
  const roots = [options.cwd, ...options.roots].map(options.realPathOf ?? ((root) => realPathOf(root)))

  /** What builds sandboxes here. Throws `NoSandboxHere` if nothing does, and any other error if that could not be found out. */
  async function builder(profile: SandboxProfile = 'read-only'): Promise<Bubblewrap | 'seatbelt'> {
    if (roots.includes('/'))
      throw new NoSandboxHere(
        'the workspace is the root folder, and everything would be visible; work in a folder of its own',
      )
    const found = process.platform === 'darwin' ? 'seatbelt' : await findBubblewrap(options.bwrap, roots)
    const problem = await (found === 'seatbelt' ? (await seatbelt()).probeSeatbelt() : probeSandbox(found))
    if (problem !== undefined) throw new NoSandboxHere(problem)
    // Only where something is to be written, because it takes as long as a command.
    const isOpen = profile === 'workspace-write' && found !== 'seatbelt' && (await probeSandbox(found, profile))
    if (isOpen) throw new NoSandboxHere(isOpen)
    return found
  }

  async function confined(command: string, confinement: Confinement, given: ExecOptions): Promise<ExecResult> {
    const { profile, hosts, home } = confinement
    const found = await builder(profile).catch((error) => {
      throw error instanceof NoSandboxHere ? noSandbox('process', profile, error.message) : notNow(profile, error)
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
        if (error instanceof NoSandboxHere) return { profiles: [], why: error.message }
        return { profiles: [], why: whyNotNow(error), isUntried: true }
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

/** Why it could not be tried whether there is a sandbox, and what to do, in words for a person. */
export function whyNotNow(error: unknown): string {
  const advice = remedies[codeOf(error) ?? ''] ?? 'Try again'
  return `${messageOf(error).replace(/[.;]? *$/, '')}. ${advice}; \`--sandbox off\` runs commands without one, with all your rights`
}

const room = 'Make room there, or set TMPDIR to another folder'
const folder = 'Set TMPDIR to a folder that you may write'
const others = 'Close other programs, and try again'
const remedies: Readonly<Record<string, string>> = {
  ENOSPC: room,
  EDQUOT: room,
  EROFS: folder,
  EACCES: folder,
  EPERM: folder,
  ENOENT: folder,
  ENOTDIR: folder,
  EEXIST: folder,
  EMFILE: 'Raise the limit of open files (`ulimit -n`)',
  ENFILE: others,
  EAGAIN: 'End other processes, or raise their limit (`ulimit -u`)',
  ENOMEM: others,
}

function notNow(profile: SandboxProfile, error: unknown): Error {
  const message = `The command was not run: its sandbox ${profile} cannot be used now: ${whyNotNow(error)}`
  return Object.assign(new Error(message), { code: 'ENOSANDBOX' })
}

const seatbelt = () => import('./seatbelt-commands.ts')
