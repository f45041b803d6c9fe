import { homedir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { callMark, callMarkVariable, endLeftovers, processIds } from '../../platform/leftover-processes.ts'
import { type KeeperRegistration, keeperMark, registerWithKeeper } from '../../platform/process-keeper.ts'
import { programPath } from '../../platform/program-path.ts'
import { repositoryOf } from '../confinement/repository.ts'
import { childEnv } from './child-env.ts'
import { type CommandLimits, commandShell } from './command-shell.ts'
import { runCommand, type StartedCommand } from './run-command.ts'
import { RunningCommands } from './running-commands.ts'

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
/** For this time no process gets the id of one that has ended: the system would have to start thousands a second. */
const idsAreNewMs = 10_000

export function createCommands({ cwd, roots, env, inheritEnv, limits }: CommandsOptions): Commands {
  const shell = commandShell(limits)
  const projects = [cwd, ...roots].flatMap((folder) => [folder, repositoryOf(folder, homedir())?.top ?? folder])
  let path: { readonly of: string; readonly safe: string } | undefined
  const handleMark = crypto.randomUUID()
  const running = new RunningCommands()
  /** Keeps the keeper from the first command to the end of this handle: to start one for each command would cost more. */
  let keeping: KeeperRegistration | undefined
  /** The processes that ran before the first command. */
  let others: { readonly pids: ReadonlySet<number> | undefined; readonly at: number } | undefined

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
    others ??= { pids: processIds(), at: performance.now() }
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
    run: (command, options) => running.run(options.signal, (signal) => runOne(command, options, signal)),

    async end() {
      await running.end()
      if (!others) return // no command was started
      const before = performance.now() - others.at < idsAreNewMs ? others.pids : undefined
      await endLeftovers({ mark: handleMark, before, isOwn: true }, { graceMs: endGraceMs })
      keeping?.end()
    },
  }
}

/** Inside a command of another Libero, started processes are marked for that one too. */
function nested(outer: string | undefined, own: string): string {
  return outer && outer.length < 1000 ? `${outer} ${own}` : own
}
