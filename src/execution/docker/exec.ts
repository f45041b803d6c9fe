import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { captureOutput } from '../commands/command-output.ts'
import { endTracked, type Trailer, trackedCommand, trailerOf } from '../commands/tracked-command.ts'
import {
  checkAlive,
  nameOf,
  type Program,
  type RunningContainer,
  runInContainer,
  startProgram,
  untilStopped,
} from './run.ts'

type ContainerExecOptions = Omit<ExecOptions, 'cwd' | 'env'> & Required<Pick<ExecOptions, 'cwd' | 'env'>>

const defaultTimeoutMs = 30_000
/** A longer timeout exceeds the range of timers and means no limit. */
const longestTimer = 2 ** 31 - 1

/** Runs a command of a model. All processes it started are ended at its end, at the time limit and when it is aborted. */
export async function execInContainer(
  running: RunningContainer,
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
  const stopped = AbortSignal.any([limit.signal, running.destroyed, ...(signal ? [signal] : [])])
  const program = startProgram(running, tracked.argv, {
    env: { ...env, ...tracked.env },
    input,
    stopped,
    stdout: (bytes) => output.write(bytes, 'stdout'),
    stderr: (bytes) => stderr(trailer.take(bytes)),
  })
  try {
    const exitCode = await untilStopped(program.done, stopped)
    const isOver = exitCode !== undefined || (await end(running, mark, program))
    stderr(trailer.rest())
    if (!isOver) stderr(Buffer.from(notConfirmed))
    const kept = output.end()
    if (exitCode !== undefined) return await finished(running, trailer, { ...kept, exitCode }, cwd)
    return { ...kept, exitCode: null, signal: 'SIGKILL', ...(limit.signal.aborted && { timedOut: true }) }
  } finally {
    clearTimeout(timer)
    program.close()
  }
}

const notConfirmed = '\n[Docker did not confirm that this command has ended; it may still be running.]\n'

async function finished(
  running: RunningContainer,
  trailer: Trailer,
  done: ExecResult,
  cwd: string,
): Promise<ExecResult> {
  if (trailer.hadNoFolder()) throw noFolder(cwd)
  const leftRunning = trailer.leftRunning()
  if (trailer.isComplete()) return leftRunning.length > 0 ? { ...done, leftRunning } : done
  // The engine could not start the command, or the shell that supervises it was ended.
  // A dying container may still be reported as running for a moment.
  for (const pause of [0, 100, 400]) {
    await later(pause)
    await checkAlive(running)
  }
  const refusal = /^OCI runtime exec failed: .*/m.exec(done.stdout + done.stderr)?.[0]
  if (refusal) throw new Error(`The container ${nameOf(running)} could not run the command: ${refusal.trim()}`)
  return { ...done, exitCode: null }
}

function noFolder(cwd: string): Error {
  const message = `The working folder ${cwd} does not exist in the container, or cannot be entered; create it, or use another one`
  return Object.assign(new Error(message), { code: 'ENOENT' })
}

/** An engine that does not answer within this time is given up. */
const endTimeoutMs = 6000

/** Ends the command; returns whether it ended. Repeated while it runs, because it may have been starting. */
async function end(running: RunningContainer, mark: string, { done }: Program): Promise<boolean> {
  const settled = done.then(
    () => true,
    () => true,
  )
  const { argv, env } = endTracked(mark)
  const enough = AbortSignal.timeout(endTimeoutMs)
  while (!enough.aborted && !running.destroyed.aborted) {
    const killing = runInContainer(running, argv, { env, timeoutMs: endTimeoutMs }).catch(() => {})
    await untilStopped(killing, enough)
    if (await Promise.race([settled, later(500)])) return true
  }
  return running.destroyed.aborted
}

const later = (ms: number) => new Promise<false>((resolve) => setTimeout(resolve, ms, false))
