import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { atMost } from '../../platform/at-most.ts'
import { endLeftovers, killLeftovers, type ProcessTag, processIds, send } from '../../platform/leftover-processes.ts'
import { onProcessExit } from '../../platform/process-keeper.ts'
import { commandOutput } from './command-output.ts'
import type { CommandShell } from './command-shell.ts'
import { type StartedCommand, startCommand } from './start-command.ts'

export interface CommandRequest extends ExecOptions {
  readonly command: string
  readonly shell: CommandShell
  /** Absolute. */
  readonly cwd: string
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  /** A random text that is in `env` too: by it we find what the command started. */
  readonly mark: string
  /** What it finds open beside its three streams, from descriptor 3 on. */
  readonly further?: readonly (number | 'ipc')[]
  /** Hears of the process as soon as there is one. */
  readonly onStart?: (child: StartedCommand) => void
  /** Asks it to end. Default: SIGTERM to its process group. */
  readonly askToEnd?: () => void
}

const defaultTimeoutMs = 30_000
/** Longer than any timer can run means no limit. */
const longestTimer = 2 ** 31 - 1
/** How long a command may take to end by itself after it was told to: at its time limit, and when nobody waits for it any more. */
const timeoutGraceMs = 2000
const abortGraceMs = 250
/** The same for what it left running. */
const strayGraceMs = 250
const shortestGraceMs = 100
/** How long after its end we listen to a pipe that something left behind still holds. */
const lingerMs = 200
/** Not even SIGKILL ends a process that the kernel holds on to. */
const unkillableMs = 3000

/** Runs one command to its end, and ends with it whatever it left running. */
export async function runCommand(request: CommandRequest): Promise<ExecResult> {
  const { command, shell, input, signal } = request
  checkCommand(command)
  signal?.throwIfAborted()
  const before = processIds()
  const child = await startCommand({ ...request, ...shell(command), reads: input !== undefined })
  const brand = { mark: request.mark, group: child.pid, before }
  const release = onProcessExit(() => killLeftovers(brand))
  try {
    request.onStart?.(child)
    return await follow(child, brand, request)
  } finally {
    release()
  }
}

const mostBytes = 100_000

function checkCommand(command: string): void {
  if (command.includes('\0')) throw new Error('A command cannot contain a NUL character; take it out')
  const bytes = Buffer.byteLength(command)
  if (bytes <= mostBytes) return
  const message = `The command has ${bytes} bytes, at most ${mostBytes} are possible; write long text to a file and use that`
  throw Object.assign(new Error(message), { code: 'E2BIG' })
}

async function follow(child: StartedCommand, brand: ProcessTag, request: CommandRequest): Promise<ExecResult> {
  const output = commandOutput(child, request.onOutput)
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  feed(child, request.input)

  const end = await ended(child, request)
  if (!end.stopped) await atMost(lingerMs, closed)
  const leftRunning = await endLeftovers(brand, { graceMs: end.strayGraceMs, escapedOnly: end.stopped })
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
  stdin.on('error', () => {}) // it did not want to read it all
  stdin.end(input)
}

interface End {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  /** We ended it. */
  readonly stopped: boolean
  /** What is left of the time that all of it has. */
  readonly strayGraceMs: number
}

function ended(child: StartedCommand, request: CommandRequest): Promise<End> {
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
        strayGraceMs: stoppedBy ? Math.max(shortestGraceMs, killAt - performance.now()) : strayGraceMs,
      })
    }

    child.once('exit', settle)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort)
  })
}
