import { type ChildProcess, spawn } from 'node:child_process'
import { stat } from 'node:fs/promises'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, messageOf } from '../../core/errors.ts'
import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { atMost } from '../../platform/at-most.ts'
import { resourceShortage } from '../../platform/files.ts'
import { endLeftovers, killLeftovers, processIds, send } from '../../platform/leftover-processes.ts'
import { onProcessExit } from '../../platform/process-keeper.ts'
import { commandOutput } from './command-output.ts'
import type { CommandShell } from './command-shell.ts'

interface CommandRequest extends ExecOptions {
  readonly command: string
  readonly shell: CommandShell
  /** Absolute. */
  readonly cwd: string
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** A random text that is also in `env`, by which processes of the command are found. */
  readonly mark: string
  /** Further open descriptors of the command, from 3 on. */
  readonly further?: readonly FurtherDescriptor[]
  /** Called as soon as the process has started. */
  readonly onStart?: (child: StartedCommand) => void
  /** Asks the command to end. Default: SIGTERM to its process group. */
  readonly askToEnd?: () => void
}

type FurtherDescriptor = number | 'ipc' | 'pipe' | 'ignore'

const defaultTimeoutMs = 30_000
/** A longer timeout exceeds the range of timers and means no limit. */
const longestTimer = 2 ** 31 - 1
/** How long a command may take to end by itself, at its time limit and when it is aborted. */
const timeoutGraceMs = 2000
const abortGraceMs = 250
/** The same for leftover processes. */
const leftoverGraceMs = 250
const shortestGraceMs = 100
/** How long output is read after the command ended, while a leftover process keeps the pipe open. */
const lingerMs = 200
/** Not even SIGKILL ends a process that is blocked in the kernel. */
const unkillableMs = 3000

/** Runs one command to its end, and ends the processes it left running. */
export async function runCommand(request: CommandRequest): Promise<ExecResult> {
  const { command, shell, input, signal } = request
  checkCommand(command)
  signal?.throwIfAborted()
  const before = processIds()
  const child = await startCommand({ ...request, ...shell(command), reads: input !== undefined })
  const tag = { mark: request.mark, group: child.pid, before }
  const release = onProcessExit(() => killLeftovers(tag))
  try {
    request.onStart?.(child)
    return await followCommand(child, request, ({ leftoverGraceMs: graceMs, stopped: escapedOnly }) =>
      endLeftovers(tag, { graceMs, escapedOnly }),
    )
  } finally {
    release()
  }
}

const mostBytes = 100_000

/** Throws if the command is too long for an argument, or cannot be one. */
export function checkCommand(command: string): void {
  if (command.includes('\0')) throw new Error('A command cannot contain a NUL character; take it out')
  const bytes = Buffer.byteLength(command)
  if (bytes <= mostBytes) return
  const message = `The command has ${bytes} bytes, at most ${mostBytes} are possible; write long text to a file and use that`
  throw Object.assign(new Error(message), { code: 'E2BIG' })
}

/** Waits for the end of a started command. `endOthers` ends what it left running, and returns the command lines. */
export async function followCommand(
  child: StartedCommand,
  request: ExecOptions & Pick<CommandRequest, 'askToEnd'>,
  endOthers: (end: End) => Promise<readonly string[]>,
): Promise<ExecResult> {
  const output = commandOutput(child, request.onOutput)
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  feed(child, request.input)

  const end = await ended(child, request)
  if (!end.stopped) await atMost(lingerMs, closed)
  const leftRunning = await endOthers(end)
  await atMost(lingerMs, closed)
  return {
    ...output.end(),
    exitCode: end.stopped ? null : end.exitCode,
    ...(end.signal && { signal: end.signal }),
    ...(end.timedOut && { timedOut: true }),
    ...(leftRunning.length > 0 && { leftRunning }),
  }
}

function feed({ stdin }: StartedCommand, input: string | Uint8Array | undefined): void {
  if (input === undefined) return
  stdin.on('error', () => {}) // the command may close its input early
  stdin.end(input)
}

interface End {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  /** Whether the command was ended by its time limit or an abort. */
  readonly stopped: boolean
  /** The remaining time for leftover processes to end by themselves. */
  readonly leftoverGraceMs: number
}

function ended(child: StartedCommand, request: Parameters<typeof followCommand>[1]): Promise<End> {
  const { timeout = defaultTimeoutMs, signal, askToEnd = () => send(-child.pid, 'SIGTERM') } = request
  return new Promise((resolve) => {
    let stoppedBy: 'timeout' | 'abort' | undefined
    let killAt = 0
    let timer =
      timeout > 0 && timeout <= longestTimer ? setTimeout(stop, timeout, 'timeout', timeoutGraceMs) : undefined
    const abort = (): void => stop('abort', abortGraceMs)

    function stop(by: 'timeout' | 'abort', graceMs: number): void {
      stoppedBy ??= by
      clearTimeout(timer)
      askToEnd()
      killAt = performance.now() + graceMs
      timer = setTimeout(kill, graceMs)
    }

    function kill(): void {
      send(-child.pid, 'SIGKILL')
      timer = setTimeout(settle, unkillableMs, null, null)
    }

    function settle(exitCode: number | null, by: string | null): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      resolve({
        exitCode,
        signal: by,
        timedOut: stoppedBy === 'timeout',
        stopped: stoppedBy !== undefined,
        leftoverGraceMs: stoppedBy ? Math.max(shortestGraceMs, killAt - performance.now()) : leftoverGraceMs,
      })
    }

    child.once('exit', settle)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
  })
}

export interface StartOptions {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Whether the command gets input; else its stdin is empty. */
  readonly reads: boolean
  readonly signal?: AbortSignal | undefined
  /** Further open descriptors of the command, from 3 on. */
  readonly further?: readonly FurtherDescriptor[] | undefined
}

/** A running process in its own group and session. */
export interface StartedCommand extends ChildProcess {
  readonly pid: number
  readonly stdin: Writable & ChildProcess['stdin']
  readonly stdout: Readable
  readonly stderr: Readable
}

/** Starts a program; retries for about a second if the machine lacks resources. */
export async function startCommand(options: StartOptions): Promise<StartedCommand> {
  await checkFolder(options.cwd)
  for (const pause of [20, 50, 130, 300, 500, undefined]) {
    options.signal?.throwIfAborted()
    try {
      return await attempt(options)
    } catch (error) {
      if (pause === undefined || !retryable.has(codeOf(error) ?? '')) return await failToStart(error, options)
      await sleep(pause)
    }
  }
  throw new Error('unreachable')
}

const retryable = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'])

function attempt({ file, args, cwd, env, reads, further = [] }: StartOptions): StartedCommand | Promise<never> {
  const stdio = [reads ? 'pipe' : 'ignore', 'pipe', 'pipe', ...further] as const
  const child = spawn(file, args, { cwd, env, detached: true, stdio: [...stdio] })
  if (isStarted(child)) {
    child.on('error', () => {}) // of a signal to a process that has ended
    return child
  }
  return new Promise((_, reject) => {
    child.once('error', (error) => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
      reject(error)
    })
  })
}

function isStarted(child: ChildProcess): child is StartedCommand {
  return child.pid !== undefined
}

/** A failed start does not report a missing folder. */
async function checkFolder(cwd: string): Promise<void> {
  let isFolder: boolean
  try {
    isFolder = (await stat(cwd)).isDirectory()
  } catch (error) {
    if (codeOf(error) !== 'ENOENT')
      throw problem(`The working folder ${cwd} cannot be used: ${messageOf(error)}`, error)
    throw problem(`The working folder ${cwd} does not exist (any more); create it, or use another one`, error)
  }
  if (!isFolder) throw problem(`The working folder ${cwd} is not a folder; use another one`, 'ENOTDIR')
}

async function failToStart(error: unknown, { file, cwd }: StartOptions): Promise<never> {
  const code = codeOf(error) ?? ''
  if (code === 'ENOENT') await checkFolder(cwd)
  throw problem(`Cannot start a command: ${explained(code, file) ?? messageOf(error)}`, error)
}

function explained(code: string, file: string): string | undefined {
  switch (code) {
    case 'E2BIG':
      return 'it is too long, together with its environment; write long text to a file and use that'
    case 'ENOENT':
      return `there is no ${file} on this machine`
    default:
      return resourceShortage(code)
  }
}

function problem(message: string, reason: unknown): Error {
  if (typeof reason === 'string') return Object.assign(new Error(message), { code: reason })
  return Object.assign(new Error(message, { cause: reason }), { code: codeOf(reason) })
}
