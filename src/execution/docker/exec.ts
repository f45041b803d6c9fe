import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { captureOutput } from '../commands/captured-output.ts'
import { endTracked, type Trailer, trackedCommand, trailerOf } from '../commands/tracked-command.ts'
import {
  type ContainerPlace,
  checkAlive,
  nameOf,
  type Program,
  runInContainer,
  startProgram,
  untilStopped,
} from './run.ts'

export type ContainerExecOptions = Omit<ExecOptions, 'cwd' | 'env'> & Required<Pick<ExecOptions, 'cwd' | 'env'>>

const defaultTimeoutMs = 30_000
/** Longer than any timer can run means no limit. */
const longestTimer = 2 ** 31 - 1

/** Runs a command of a model: ended with all it started, at its end, at the time limit and when somebody stops it. */
export async function execInContainer(
  place: ContainerPlace,
  command: string,
  { cwd, env, input, timeout = defaultTimeoutMs, signal, onOutput }: ContainerExecOptions,
): Promise<ExecResult> {
  signal?.throwIfAborted()
  const mark = `libero-${crypto.randomUUID()}`
  const tracked = trackedCommand(mark, command, cwd)
  const trailer = trailerOf(mark)
  const output = captureOutput(onOutput && { onOutput })
  const stderr = (bytes: Buffer) => output.write(bytes, 'stderr')

  const limit = new AbortController()
  const timer = timeout > 0 && timeout <= longestTimer ? setTimeout(() => limit.abort(), timeout) : undefined
  const stopped = AbortSignal.any([limit.signal, place.destroyed, ...(signal ? [signal] : [])])
  const program = startProgram(place, tracked.argv, {
    env: { ...env, ...tracked.env },
    input,
    stopped,
    stdout: (bytes) => output.write(bytes, 'stdout'),
    stderr: (bytes) => stderr(trailer.take(bytes)),
  })
  try {
    const exitCode = await untilStopped(program.done, stopped)
    const isOver = exitCode !== undefined || (await end(place, mark, program))
    stderr(trailer.rest())
    if (!isOver) stderr(Buffer.from(notOver))
    const kept = output.end()
    if (exitCode !== undefined) return await finished(place, trailer, { ...kept, exitCode }, cwd)
    return { ...kept, exitCode: null, signal: 'SIGKILL', ...(limit.signal.aborted && { timedOut: true }) }
  } finally {
    clearTimeout(timer)
    program.close()
  }
}

const notOver = '\n[Docker did not confirm that this command has ended; it may still be running.]\n'

async function finished(place: ContainerPlace, trailer: Trailer, done: ExecResult, cwd: string): Promise<ExecResult> {
  if (trailer.hadNoFolder()) throw noFolder(cwd)
  const leftRunning = trailer.leftRunning()
  if (trailer.isComplete()) return leftRunning.length > 0 ? { ...done, leftRunning } : done
  // The engine could not start it, or something ended the shell that watches over it.
  // A container that is dying says for a moment that it is well.
  for (const pause of [0, 100, 400]) {
    await later(pause)
    await checkAlive(place)
  }
  const refusal = /^OCI runtime exec failed: .*/m.exec(done.stdout + done.stderr)?.[0]
  if (refusal) throw new Error(`The container ${nameOf(place)} could not run the command: ${refusal.trim()}`)
  return { ...done, exitCode: null }
}

function noFolder(cwd: string): Error {
  const message = `The working folder ${cwd} does not exist in the container, or cannot be entered; create it, or use another one`
  return Object.assign(new Error(message), { code: 'ENOENT' })
}

/** An engine that does not answer cannot end anything. */
const endPatienceMs = 6000

/** Tells whether it ended. Once more when it is still there: it may have been about to start. */
async function end(place: ContainerPlace, mark: string, { done }: Program): Promise<boolean> {
  const settled = done.then(
    () => true,
    () => true,
  )
  const { argv, env } = endTracked(mark)
  const enough = AbortSignal.timeout(endPatienceMs)
  while (!enough.aborted && !place.destroyed.aborted) {
    const killing = runInContainer(place, argv, { env, timeoutMs: endPatienceMs }).catch(() => {})
    await untilStopped(killing, enough)
    if (await Promise.race([settled, later(500)])) return true
  }
  return place.destroyed.aborted
}

const later = (ms: number) => new Promise<false>((resolve) => setTimeout(resolve, ms, false))
