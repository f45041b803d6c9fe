import type { ExecOptions, ExecResult } from '../../core/execution.ts'
import { resolvePosix } from '../../core/execution.ts'
import { captureOutput, endOfText } from '../commands/captured-output.ts'
import { inputByFile } from './input.ts'
import { type SandboxExecResult, type SandboxProvider, sandboxProblem, textOf } from './provider.ts'

/** A sandbox that runs. */
export interface SandboxPlace {
  readonly provider: SandboxProvider
  readonly id: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly destroyed: AbortSignal
  readonly graceMs: number
}

const defaultTimeoutMs = 30_000
/** Longer than any timer can run means no limit. */
const longestTimer = 2 ** 31 - 1

/** Runs a command, and stops waiting for it when its time is up or somebody stops it, whatever the provider does. */
export async function execInSandbox(place: SandboxPlace, command: string, options: ExecOptions): Promise<ExecResult> {
  const { timeout = defaultTimeoutMs, signal } = options
  signal?.throwIfAborted()
  const limit = new AbortController()
  const stopped = AbortSignal.any([limit.signal, place.destroyed, ...(signal ? [signal] : [])])
  const timer = timeout > 0 && timeout <= longestTimer ? setTimeout(() => limit.abort(), timeout) : undefined
  const output = outputOf(options)
  const finished = new AbortController()
  const started = performance.now()

  const work = run(place, command, { ...options, timeout, signal: stopped, onOutput: output.hear })
  try {
    const settled = await Promise.race([work, graceAfter(stopped, place.graceMs, finished.signal)])
    // A provider that keeps the limit itself may do so a moment before us.
    const isAlmostUp = timer !== undefined && performance.now() - started > timeout * 0.9
    const saysSo = settled !== undefined && 'error' in settled && isTimeout(settled.error)
    const timedOut = limit.signal.aborted || (isAlmostUp && saysSo)
    if (stopped.aborted || timedOut) {
      if (settled && 'result' in settled) output.take(settled.result)
      else if (!settled)
        output.note('The sandbox did not confirm that this command has ended; it may still be running.')
      return { ...output.end(), exitCode: null, ...(timedOut && { timedOut }) }
    }
    if (!settled || 'error' in settled) throw sandboxProblem(place.provider, 'run the command', settled?.error)
    return resultOf(settled.result, output.take(settled.result).end())
  } finally {
    clearTimeout(timer)
    finished.abort()
  }
}

type Settled = { readonly result: SandboxExecResult } | { readonly error: unknown }

async function run(place: SandboxPlace, command: string, options: ExecOptions & RunOptions): Promise<Settled> {
  const { provider, id } = place
  const { cwd = '.', env, timeout, signal, input, onOutput } = options
  const others = { cwd: resolvePosix(place.cwd, cwd), env: { ...place.env, ...env }, timeout, signal, onOutput }
  try {
    if (provider.input)
      return { result: await provider.exec(id, command, input === undefined ? others : { ...others, input }) }
    const prefix = await inputByFile(place, input, signal)
    signal.throwIfAborted()
    return { result: await provider.exec(id, `${prefix}\n${command}`, others) }
  } catch (error) {
    return { error }
  }
}

interface RunOptions {
  readonly timeout: number
  readonly signal: AbortSignal
  readonly onOutput: NonNullable<ExecOptions['onOutput']>
}

/** Undefined, some time after the first signal; nothing is left of it after the second. */
function graceAfter(stopped: AbortSignal, ms: number, finished: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const wait = () => {
      const timer = setTimeout(resolve, ms, undefined)
      finished.addEventListener('abort', () => clearTimeout(timer), { once: true })
    }
    if (stopped.aborted) wait()
    else stopped.addEventListener('abort', wait, { once: true, signal: finished })
  })
}

const isTimeout = (error: unknown) => /time(d|r)? ?-?out|deadline/i.test(textOf(error))

interface Output {
  hear(text: string, from: 'stdout' | 'stderr'): void
  /** What came only at the end. */
  take(result: SandboxExecResult): Output
  note(text: string): void
  end(): Pick<ExecResult, 'stdout' | 'stderr'>
}

/** A provider may tell what comes, or give all at the end, or both. */
function outputOf(options: ExecOptions): Output {
  const captured = captureOutput(options)
  const heard = { stdout: false, stderr: false }
  let isOver = false
  const write = (text: string, from: 'stdout' | 'stderr') => captured.write(Buffer.from(text), from)
  const output: Output = {
    hear(text, from) {
      if (isOver || typeof text !== 'string' || text === '') return
      heard[from] = true
      write(text, from)
    },
    take(result) {
      for (const from of ['stdout', 'stderr'] as const) {
        const text = result[from]
        if (!heard[from] && typeof text === 'string') write(endOfText(text), from)
      }
      return output
    },
    note: (text) => write(`\n[${text}]\n`, 'stderr'),
    end() {
      isOver = true
      return captured.end()
    },
  }
  return output
}

function resultOf(result: SandboxExecResult, output: Pick<ExecResult, 'stdout' | 'stderr'>): ExecResult {
  const { exitCode, signal, timedOut, leftRunning } = result
  return {
    ...output,
    exitCode: typeof exitCode === 'number' ? exitCode : null,
    ...(signal !== undefined && { signal }),
    ...(timedOut && { timedOut }),
    ...(leftRunning && { leftRunning }),
  }
}
