import { homedir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { callMark, callMarkVariable, endLeftovers } from '../../platform/leftover-processes.ts'
import { type KeeperRegistration, keeperMark, registerWithKeeper } from '../../platform/process-keeper.ts'
import { programPath } from '../../platform/program-path.ts'
import { repositoryOf } from '../confinement/repository.ts'
import { childEnv } from './child-env.ts'
import { type CommandLimits, commandShell } from './command-shell.ts'
import { runCommand, type StartedCommand } from './run-command.ts'

export interface CommandsOptions {
  /** Absolute. */
  readonly cwd: string
  /** The folders of the workspace. No program of these is found by its name, unless `env` says so. */
  readonly roots: readonly string[]
  readonly env: readonly (Readonly<Record<string, string>> | undefined)[]
  readonly inheritEnv: readonly string[]
  readonly limits: CommandLimits | undefined
}

/** The commands of one handle. */
export interface Commands {
  run(command: string, options: ExecOptions): Promise<ExecResult>
  /** Ends all running commands; resolves when they have ended, or cannot be ended. */
  end(): Promise<void>
}

const endGraceMs = 250

export function createCommands({ cwd, roots, env, inheritEnv, limits }: CommandsOptions): Commands {
  const shell = commandShell(limits)
  const projects = [cwd, ...roots].flatMap((folder) => [folder, repositoryOf(folder, homedir())?.top ?? folder])
  let path: { readonly of: string; readonly safe: string } | undefined
  const handleMark = crypto.randomUUID()
  const destroyed = new Error('The execution handle was destroyed')
  const running = new Map<AbortController, Promise<unknown>>()
  /** Keeps the keeper from the first command to the end of this handle: to start one for each command would cost more. */
  let keeping: KeeperRegistration | undefined

  /** The environment of this process, whose `PATH` is looked through again only if it changed. */
  function hostEnv(): NodeJS.ProcessEnv {
    const { PATH: of } = process.env
    if (of === undefined) return process.env
    if (path?.of !== of) path = { of, safe: programPath(of, projects).join(delimiter) }
    return { ...process.env, PATH: path.safe }
  }

  async function runOne(command: string, options: ExecOptions, signal: AbortSignal): Promise<ExecResult> {
    const mark = crypto.randomUUID()
    const at = resolve(cwd, options.cwd ?? '')
    const host = hostEnv()
    const marks = {
      LIBERO_HANDLE: nested(host.LIBERO_HANDLE, handleMark),
      LIBERO_COMMAND: nested(host.LIBERO_COMMAND, mark),
      LIBERO_KEEPER: nested(host.LIBERO_KEEPER, keeperMark),
      [callMarkVariable]: options.call
        ? nested(host[callMarkVariable], callMark(options.call))
        : host[callMarkVariable],
    }
    const added = [{ PWD: at }, ...env, options.env, marks]
    const all = childEnv({ host, inherit: inheritEnv, added })
    keeping ??= registerWithKeeper()
    const watch = registerWithKeeper()
    const onStart = ({ pid }: StartedCommand): void => watch.add(pid)
    try {
      return await runCommand({ ...options, command, shell, cwd: at, env: all, mark, signal, onStart })
    } finally {
      watch.end()
    }
  }

  return {
    async run(command, options) {
      const stop = new AbortController()
      const follow = (): void => stop.abort(options.signal?.reason)
      if (options.signal?.aborted) follow()
      options.signal?.addEventListener('abort', follow)
      const work = runOne(command, options, stop.signal)
      running.set(stop, work)
      try {
        return await work
      } catch (error) {
        if (error === destroyed) return { stdout: '', stderr: '', exitCode: null } // as if it had just started
        throw error
      } finally {
        running.delete(stop)
        options.signal?.removeEventListener('abort', follow)
      }
    },

    async end() {
      for (const stop of running.keys()) stop.abort(destroyed)
      await Promise.allSettled(running.values())
      await endLeftovers({ mark: handleMark }, { graceMs: endGraceMs })
      keeping?.end()
    },
  }
}

/** Inside a command of another Libero, started processes are marked for that one too. */
function nested(outer: string | undefined, own: string): string {
  return outer && outer.length < 1000 ? `${outer} ${own}` : own
}
