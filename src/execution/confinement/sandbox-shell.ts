import { closeSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { type ExecOptions, type ExecResult, shellQuote } from '../../core/execution.ts'
import { send } from '../../platform/leftover-processes.ts'
import { onProcessExit, registerWithKeeper } from '../../platform/process-keeper.ts'
import { bubblewrapArgs, copiedPaths, heldPaths, type SandboxLayout } from '../bubblewrap/args.ts'
import { type Bubblewrap, setupProblem } from '../bubblewrap/check.ts'
import { type HeldMounts, holdMounts, notInPlace } from '../bubblewrap/held-mounts.ts'
import type { PrivateFolder } from '../bubblewrap/private-folder.ts'
import { askToEnd, firstInside, openAll, openNew, openText, tailOf, textFrom, textOf } from '../bubblewrap/runner.ts'
import {
  awaitClosedReport,
  closeOthers,
  fds,
  outerCommand,
  type Report,
  readReport,
  reportOthers,
  socketAt,
  stderr,
} from '../bubblewrap/script.ts'
import { type CommandLimits, findBash, limitLines } from '../commands/command-shell.ts'
import { checkCommand, followCommand, type StartedCommand, startCommand } from '../commands/run-command.ts'

/** A finished sandbox whose shell waits for one command, runs it and ends. */
export interface SandboxShell {
  /** Runs the command to its end. May be called once. */
  run(command: string, options: ExecOptions & { readonly cwd: string }): Promise<{ result: ExecResult; report: Report }>
  /** Ends it unused; resolves when it has ended. */
  discard(): Promise<void>
  /** Whether it can still take a command. */
  isWaiting(): boolean
}

export type ShellLayout = Omit<SandboxLayout, 'fds' | 'knowsSize' | 'temporary' | 'nothing'>

export interface ShellOptions {
  readonly bubblewrap: Bubblewrap
  readonly folder: PrivateFolder
  readonly layout: ShellLayout
  readonly limits: CommandLimits
  /** The file by which it enters its cgroup. */
  readonly entrance: string | undefined
}

/** Starts to build a sandbox. It does not keep this process running before it gets its command. */
export async function startSandboxShell(options: ShellOptions): Promise<SandboxShell> {
  const held = holdMounts(heldPaths(options.layout))
  try {
    return await startHeld(options, held)
  } catch (error) {
    held.end()
    throw error
  }
}

async function startHeld(options: ShellOptions, held: HeldMounts): Promise<SandboxShell> {
  const { bubblewrap, folder, layout, limits, entrance } = options
  const { temporary, nothing } = folder
  const args = bubblewrapArgs({ ...layout, temporary, nothing, fds, knowsSize: bubblewrap.knowsSize })
  const copies = openAll(copiedPaths(layout))
  const own = { args: openText(folder.file('args'), args.join('\0')), seccomp: openSync(folder.seccomp, 'r') }
  const status = openNew(folder.file('status'))
  const report = openNew(folder.file('report'))
  const close = (...open: number[]): void => {
    for (const fd of open) closeSync(fd)
  }
  const keeping = registerWithKeeper()
  let child: StartedCommand
  try {
    const start = outerCommand(bubblewrap.path, entrance, waitingShell(limits))
    const further = [own.args, own.seccomp, status, report, 'pipe', 'pipe', 'ignore', ...copies] as const
    child = await startCommand({ ...start, cwd: '/', env: {}, reads: true, further })
  } catch (error) {
    keeping.end()
    close(status, report)
    throw error
  } finally {
    close(own.args, own.seccomp, ...copies)
  }
  keeping.add(child.pid)
  const cancelAtExit = onProcessExit(() => send(-child.pid, 'SIGKILL'))
  const control = socketAt(child, fds.channel)
  const left = textFrom(socketAt(child, fds.left))
  const streams = [child.stdin, child.stdout, child.stderr, control, left.socket]
  for (const stream of streams) stream.on('error', () => {}) // it may end at any time
  child.unref()
  for (const stream of streams) if (stream instanceof Socket) stream.unref()
  let state: 'waiting' | 'running' | 'over' = 'waiting'
  const exited = new Promise<void>((resolve) =>
    child.once('exit', () => {
      keeping.end()
      cancelAtExit()
      if (state === 'waiting') finish()
      resolve()
    }),
  )

  let problem: Error | undefined
  /** Resolves when the mounts are made, and it was looked at what they are of; also if the sandbox ends before. */
  const looked = new Promise<void>((resolve) => {
    control.once('close', resolve)
    control.once('data', () => {
      if (state !== 'over') problem = notInPlace(held, firstInside(textOf(status), child.pid))
      if (problem) send(-child.pid, 'SIGKILL')
      held.end()
      resolve()
    })
  })

  function finish(): void {
    if (state === 'over') return
    state = 'over'
    held.end()
    for (const stream of streams) stream.destroy()
    close(status, report)
  }

  return {
    isWaiting: () => state === 'waiting',

    async discard() {
      if (state !== 'waiting') return
      child.ref()
      send(-child.pid, 'SIGKILL')
      finish()
      await exited
    },

    async run(command, options) {
      checkCommand(command)
      state = 'running'
      child.ref()
      for (const stream of streams) if (stream instanceof Socket) stream.ref()
      const request = requestLine(command, options)
      void looked.then(() => !problem && control.end(request))
      if (options.input === undefined) child.stdin.destroy()
      const over = new AbortController()
      const errors = tailOf(options.onOutput)
      try {
        const result = await followCommand(
          child,
          {
            ...options,
            ...(errors && { onOutput: errors.onOutput }),
            // The process group is bubblewrap alone: processes inside would be killed with it, without time to clean up.
            askToEnd: () => void askToEnd(status, child.pid, over.signal),
          },
          async () => [], // all that it left running dies with the sandbox
        )
        const told = readReport(textOf(status), textOf(report), await left.text())
        if (problem) throw problem
        if (!told.isBuilt && result.exitCode !== null) throw notBuilt(errors?.text() ?? result.stderr)
        return { result, report: told }
      } finally {
        over.abort()
        finish()
      }
    },
  }
}

function notBuilt(stderr: string): Error {
  return Object.assign(setupProblem(stderr), { code: 'ENOSANDBOX' })
}

/** What a sandbox says that is none. */
export const sharesProcesses = 'it shares the processes of this machine'

/** Inside the sandbox. The variables of the command are not to be changed, so its own have names that no program uses. */
function waitingShell(limits: CommandLimits): string[] {
  const bash = findBash()
  const run = bash ? `${bash} --norc -c -- "$2"` : '/bin/sh -c -- "$2"'
  const set = limitLines(limits, bash !== undefined)
  const script = `exec ${stderr}>&2 2>/dev/null
${bash ? closeOthers([fds.channel]) : 'exec 3>&- 4>&- 5>&-'}
[ $$ -lt 10 ] || { echo '${sharesProcesses}' >&${fds.report}; exit 125; }
ulimit -c 0
${awaitClosedReport}
unset n f
echo >&${fds.channel}
IFS= read -r ${requestName} <&${fds.channel} || exit 125
exec ${fds.channel}<&-
${newlineName}='
'
eval "set -- $${requestName}"
unset ${requestName} ${newlineName}
cd -- "$1" || { echo folder >&${fds.report}; exit 125; }
exec ${fds.report}>&-
unset OLDPWD SHLVL
trap : TERM
${set === '' ? '' : `{ ${set}}  2>&${stderr}`}
[ "$3" = input ] || exec </dev/null
${run} 2>&${stderr} ${stderr}>&- ${fds.left}>&-
code=$?
set -- /proc/[0-9]*
[ $# -le 2 ] || { ${reportOthers}; }
exit $code`
  return [...(bash ? [bash, '--norc'] : ['/bin/sh']), '-c', script, 'sandbox']
}

const requestName = 'libero_request'
const newlineName = 'libero_newline'

/** One line, because a shell reads one easily: the words that it has to run. */
function requestLine(command: string, { cwd, input }: ExecOptions & { readonly cwd: string }): string {
  const words = [cwd, command, input === undefined ? 'none' : 'input'].map(shellQuote).join(' ')
  return `${words.replaceAll('\n', `'"$${newlineName}"'`)}\n`
}
