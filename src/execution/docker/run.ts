import type { Duplex } from 'node:stream'
import type { ExecResult } from '../../core/execution.ts'
import { captureOutput } from '../commands/command-output.ts'
import { type DockerContainer, type DockerExec, type DockerState, dockerProblem, statusOf } from './client.ts'

/** A container and what is needed to run programs in it. */
export interface RunningContainer {
  readonly container: DockerContainer
  readonly user: string | undefined
  /** Aborted by `destroy`. */
  readonly destroyed: AbortSignal
}

interface RunOptions {
  readonly input?: string | Uint8Array | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Runs an internal program, which leaves no processes running. */
export async function runInContainer(
  running: RunningContainer,
  argv: readonly string[],
  { input, env = {}, timeoutMs = 120_000 }: RunOptions = {},
): Promise<ExecResult> {
  const output = captureOutput()
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), timeoutMs)
  const stopped = AbortSignal.any([running.destroyed, limit.signal])
  const program = startProgram(running, argv, {
    env,
    input,
    stopped,
    stdout: (bytes) => output.write(bytes, 'stdout'),
    stderr: (bytes) => output.write(bytes, 'stderr'),
  })
  try {
    const exitCode = await untilStopped(program.done, stopped)
    if (running.destroyed.aborted) throw new Error('the container was destroyed meanwhile; spawn another handle')
    if (exitCode === undefined) return { ...output.end(), exitCode: null, timedOut: true }
    if (exitCode >= firstEngineExitCode) await checkAlive(running)
    return { ...output.end(), exitCode }
  } finally {
    clearTimeout(timer)
    program.close()
  }
}

/** Exit codes from here on may come from the engine, which could not start the program, or from a signal. */
const firstEngineExitCode = 126

export interface Program {
  /** The exit code; undefined if it was stopped before it began, or the container was destroyed. */
  readonly done: Promise<number | undefined>
  /** Stops listening. */
  close(): void
}

interface ProgramOptions {
  readonly env: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array | undefined
  /** Once aborted, the program is not started; a started one continues. */
  readonly stopped: AbortSignal
  stdout(bytes: Buffer): void
  stderr(bytes: Buffer): void
}

/** Starts a program in the root folder of the container. */
export function startProgram(running: RunningContainer, argv: readonly string[], options: ProgramOptions): Program {
  const { env, input, stopped, stdout, stderr } = options
  let stream: Duplex | undefined
  let closed = false

  async function work(): Promise<number | undefined> {
    const exec = await running.container.exec({
      Cmd: argv,
      AttachStdin: input !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      WorkingDir: '/',
      ...(running.user !== undefined && { User: running.user }),
    })
    if (stopped.aborted) return undefined
    stream = await exec.start({ hijack: true, stdin: input !== undefined })
    if (closed) stream.destroy()
    if (input !== undefined) stream.end(input)
    const failure = await ended(stream, demultiplexer(stdout, stderr))
    return exitCodeOf(exec, failure)
  }

  const done = work().catch(async (error) => {
    if (running.destroyed.aborted) return undefined
    throw await explained(running, error)
  })
  done.catch(() => {}) // the caller that stopped it no longer waits
  const close = () => {
    closed = true
    stream?.destroy()
  }
  return { done, close }
}

/** Resolves after the last byte, with the error of a broken stream. */
function ended(stream: Duplex, take: (bytes: Buffer) => void): Promise<Error | undefined> {
  return new Promise((resolve) => {
    stream.on('data', take)
    stream.once('end', () => resolve(undefined))
    stream.once('close', () => resolve(undefined))
    stream.on('error', resolve)
  })
}

/** The engine may close the stream a moment before it knows the exit code. */
async function exitCodeOf(exec: DockerExec, failure: Error | undefined): Promise<number> {
  for (let pause = 5; pause < 2000; pause *= 2) {
    const { Running, ExitCode } = await exec.inspect()
    if (!Running && ExitCode !== null) return ExitCode
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  throw failure ?? new Error('the connection to the command was lost while it was running')
}

/** The outcome of `done`; undefined as soon as the signal aborts. */
export async function untilStopped<T>(done: Promise<T>, stopped: AbortSignal): Promise<T | undefined> {
  let stop = () => {}
  const stopping = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined)
    if (stopped.aborted) stop()
    else stopped.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([done, stopping])
  } finally {
    stopped.removeEventListener('abort', stop)
  }
}

async function explained(running: RunningContainer, error: unknown): Promise<Error> {
  try {
    if ([404, 409, 500].includes(statusOf(error) ?? 0)) await checkAlive(running)
  } catch (dead) {
    return dead as Error
  }
  return dockerProblem(`The container ${nameOf(running)} failed`, error)
}

/** Throws if the container has died, with the cause, which explains more than the failures that follow from it. */
export async function checkAlive(running: RunningContainer): Promise<void> {
  const state = await running.container.inspect().then(
    ({ State }): DockerState => State ?? {},
    (error): DockerState => ({ Running: statusOf(error) !== 404 }),
  )
  if (state.Running) return
  const exit = state.ExitCode === undefined ? '' : ` (exit code ${state.ExitCode})`
  const cause = state.OOMKilled ? ' (it ran out of memory)' : exit
  throw new Error(`The container ${nameOf(running)} is no longer running${cause}; spawn another handle`)
}

export const nameOf = ({ container }: RunningContainer) => container.id.slice(0, 12)

/**
 * Splits the stream of a container into stdout and stderr. It consists of frames: one byte for the stream (1 stdout, 2
 * stderr), three zeros, the length in four bytes, and the content. Incomplete frames are passed on at once.
 */
export function demultiplexer(
  stdout: (bytes: Buffer) => void,
  stderr: (bytes: Buffer) => void,
): (bytes: Buffer) => void {
  let header = Buffer.alloc(0)
  let write = stdout
  let left = 0
  return (bytes) => {
    let rest = bytes
    while (rest.length > 0) {
      if (left === 0) {
        const missing = headerLength - header.length
        header = Buffer.concat([header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (header.length < headerLength) return
        write = header[0] === 2 ? stderr : stdout
        left = header.readUInt32BE(4)
        header = Buffer.alloc(0)
        continue
      }
      const part = rest.subarray(0, left)
      left -= part.length
      rest = rest.subarray(part.length)
      write(part)
    }
  }
}

const headerLength = 8
