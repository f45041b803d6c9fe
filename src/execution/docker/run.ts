import type { Duplex } from 'node:stream'
import type { ExecResult } from '../../core/execution.ts'
import { captureOutput } from '../commands/captured-output.ts'
import { type DockerContainer, type DockerExec, type DockerState, dockerProblem, statusOf } from './client.ts'
import { demultiplexer } from './stream.ts'

/** A running container as its programs see it. */
export interface ContainerPlace {
  readonly container: DockerContainer
  readonly user: string | undefined
  /** Aborted by `destroy`. */
  readonly destroyed: AbortSignal
}

export interface RunOptions {
  readonly input?: string | Uint8Array | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

/** Runs a program of our own, which starts nothing that stays. */
export async function runInContainer(
  place: ContainerPlace,
  argv: readonly string[],
  { input, env = {}, timeoutMs = 120_000 }: RunOptions = {},
): Promise<ExecResult> {
  const output = captureOutput()
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), timeoutMs)
  const stopped = AbortSignal.any([place.destroyed, limit.signal])
  const program = startProgram(place, argv, {
    env,
    input,
    stopped,
    stdout: (bytes) => output.write(bytes, 'stdout'),
    stderr: (bytes) => output.write(bytes, 'stderr'),
  })
  try {
    const exitCode = await untilStopped(program.done, stopped)
    if (place.destroyed.aborted) throw new Error('the container was destroyed meanwhile; spawn another handle')
    if (exitCode === undefined) return { ...output.end(), exitCode: null, timedOut: true }
    if (exitCode >= firstOfEngine) await checkAlive(place)
    return { ...output.end(), exitCode }
  } finally {
    clearTimeout(timer)
    program.close()
  }
}

/** From this one on, exit codes may be those of the engine that could not start it, or of a signal. */
const firstOfEngine = 126

export interface Program {
  /** The exit code; undefined when it was stopped before it began, or the container was destroyed. */
  readonly done: Promise<number | undefined>
  /** Stops listening. */
  close(): void
}

export interface ProgramOptions {
  readonly env: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array | undefined
  /** Not started any more once this is aborted; what has begun goes on. */
  readonly stopped: AbortSignal
  stdout(bytes: Buffer): void
  stderr(bytes: Buffer): void
}

/** Starts a program at the root of the container. */
export function startProgram(place: ContainerPlace, argv: readonly string[], options: ProgramOptions): Program {
  const { env, input, stopped, stdout, stderr } = options
  let stream: Duplex | undefined
  let closed = false

  async function work(): Promise<number | undefined> {
    const exec = await place.container.exec({
      Cmd: argv,
      AttachStdin: input !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      WorkingDir: '/',
      ...(place.user !== undefined && { User: place.user }),
    })
    if (stopped.aborted) return undefined
    stream = await exec.start({ hijack: true, stdin: input !== undefined })
    if (closed) stream.destroy()
    if (input !== undefined) stream.end(input)
    const failure = await ended(stream, demultiplexer(stdout, stderr))
    return exitCodeOf(exec, failure)
  }

  const done = work().catch(async (error) => {
    if (place.destroyed.aborted) return undefined
    throw await explained(place, error)
  })
  done.catch(() => {}) // whoever stopped it no longer listens
  const close = () => {
    closed = true
    stream?.destroy()
  }
  return { done, close }
}

/** Until the last byte; gives the error that it broke off with. */
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

/** The outcome; undefined as soon as the signal is aborted. */
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

async function explained(place: ContainerPlace, error: unknown): Promise<Error> {
  try {
    if ([404, 409, 500].includes(statusOf(error) ?? 0)) await checkAlive(place)
  } catch (dead) {
    return dead as Error
  }
  return dockerProblem(`The container ${nameOf(place)} failed`, error)
}

/** Throws when the container died: it refuses or ends everything then, and what it died of says more. */
export async function checkAlive(place: ContainerPlace): Promise<void> {
  const state = await place.container.inspect().then(
    ({ State }): DockerState => State ?? {},
    (error): DockerState => ({ Running: statusOf(error) !== 404 }),
  )
  if (state.Running) return
  const exit = state.ExitCode === undefined ? '' : ` (exit code ${state.ExitCode})`
  const cause = state.OOMKilled ? ' (it ran out of memory)' : exit
  throw new Error(`The container ${nameOf(place)} is no longer running${cause}; spawn another handle`)
}

export const nameOf = ({ container }: ContainerPlace) => container.id.slice(0, 12)
