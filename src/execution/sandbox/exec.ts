import { type ExecOptions, type ExecResult, resolvePosix, shellQuote } from '../../core/execution.ts'
import { captureOutput, endOfText } from '../commands/command-output.ts'
import { type SandboxExecResult, type SandboxProvider, sandboxProblem, textOf } from './provider.ts'

/** A running sandbox. */
export interface RunningSandbox {
  readonly provider: SandboxProvider
  readonly id: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly destroyed: AbortSignal
  readonly graceMs: number
}

const defaultTimeoutMs = 30_000
/** A longer timeout exceeds the range of timers and means no limit. */
const longestTimer = 2 ** 31 - 1

/** Runs a command. Stops waiting at its time limit or when it is aborted, even if the provider does not react. */
export async function execInSandbox(
  sandbox: RunningSandbox,
  command: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const { timeout = defaultTimeoutMs, signal } = options
  signal?.throwIfAborted()
  const limit = new AbortController()
  const stopped = AbortSignal.any([limit.signal, sandbox.destroyed, ...(signal ? [signal] : [])])
  const timer = timeout > 0 && timeout <= longestTimer ? setTimeout(() => limit.abort(), timeout) : undefined
  const output = outputOf(options)
  const finished = new AbortController()
  const started = performance.now()

  const work = run(sandbox, command, { ...options, timeout, signal: stopped, onOutput: output.receive })
  try {
    const settled = await Promise.race([work, graceAfter(stopped, sandbox.graceMs, finished.signal)])
    // A provider may enforce the limit a moment earlier.
    const isAlmostUp = timer !== undefined && performance.now() - started > timeout * 0.9
    const isReported = settled !== undefined && 'error' in settled && isTimeout(settled.error)
    const timedOut = limit.signal.aborted || (isAlmostUp && isReported)
    if (stopped.aborted || timedOut) {
      if (settled && 'result' in settled) output.take(settled.result)
      else if (!settled)
        output.note('The sandbox did not confirm that this command has ended; it may still be running.')
      return { ...output.end(), exitCode: null, ...(timedOut && { timedOut }) }
    }
    if (!settled || 'error' in settled) throw sandboxProblem(sandbox.provider, 'run the command', settled?.error)
    return resultOf(settled.result, output.take(settled.result).end())
  } finally {
    clearTimeout(timer)
    finished.abort()
  }
}

type Settled = { readonly result: SandboxExecResult } | { readonly error: unknown }

async function run(sandbox: RunningSandbox, command: string, options: ExecOptions & RunOptions): Promise<Settled> {
  const { provider, id } = sandbox
  const { cwd = '.', env, timeout, signal, input, onOutput } = options
  const others = { cwd: resolvePosix(sandbox.cwd, cwd), env: { ...sandbox.env, ...env }, timeout, signal, onOutput }
  try {
    if (provider.input)
      return { result: await provider.exec(id, command, input === undefined ? others : { ...others, input }) }
    const prefix = await inputByFile(sandbox, input, signal)
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

/** Resolves some time after `stopped` aborts; `finished` removes its timer and listeners. */
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
  receive(text: string, from: 'stdout' | 'stderr'): void
  /** Adds output that comes only with the result. */
  take(result: SandboxExecResult): Output
  note(text: string): void
  end(): Pick<ExecResult, 'stdout' | 'stderr'>
}

/** A provider may stream the output, return it at the end, or both. */
function outputOf(options: ExecOptions): Output {
  const captured = captureOutput(options)
  const streamed = { stdout: false, stderr: false }
  let isOver = false
  const write = (text: string, from: 'stdout' | 'stderr') => captured.write(Buffer.from(text), from)
  const output: Output = {
    receive(text, from) {
      if (isOver || typeof text !== 'string' || text === '') return
      streamed[from] = true
      write(text, from)
    },
    take(result) {
      for (const from of ['stdout', 'stderr'] as const) {
        const text = result[from]
        if (!streamed[from] && typeof text === 'string') write(endOfText(text), from)
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

/** Fits into one argument of a command line. */
const chunk = 90_000

/**
 * A shell line that redirects the input of the following command, for providers without input: the bytes are stored in a file,
 * which is deleted once it is open. Without input, stdin is empty.
 */
export async function inputByFile(
  sandbox: RunningSandbox,
  input: string | Uint8Array | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (input === undefined) return 'exec < /dev/null'
  const file = `/tmp/.libero-${crypto.randomUUID()}`
  try {
    if (sandbox.provider.writeFile) await sandbox.provider.writeFile(sandbox.id, file, Buffer.from(input))
    else await storeInput(sandbox, file, Buffer.from(input), signal)
    signal.throwIfAborted()
  } catch (error) {
    await remove(sandbox, file)
    throw error
  }
  return `exec < ${file}; rm -f ${file}`
}

const removeMs = 10_000

/** Removes the unused file; not with the signal that stopped the command. */
async function remove({ provider, id }: RunningSandbox, file: string): Promise<void> {
  const how = { cwd: '/', env: {}, timeout: removeMs, signal: AbortSignal.timeout(removeMs) }
  try {
    await provider.exec(id, `rm -f ${file} ${file}.b64`, how)
  } catch {
    // the first failure is reported
  }
}

async function storeInput(
  { provider, id }: RunningSandbox,
  file: string,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<void> {
  const encoded = bytes.toString('base64')
  const lines = [`umask 077; : > ${file}.b64`]
  for (let from = 0; from < encoded.length; from += chunk)
    lines.push(`printf %s ${shellQuote(encoded.slice(from, from + chunk))} >> ${file}.b64`)
  // Older macOS has -D.
  lines.push(`{ base64 -d < ${file}.b64 || base64 -D < ${file}.b64; } > ${file} 2>/dev/null; rm -f ${file}.b64`)
  for (const line of lines) {
    signal.throwIfAborted()
    const { exitCode, stderr } = await provider.exec(id, line, { cwd: '/', env: {}, timeout: 0, signal })
    if (exitCode !== 0) throw new Error(`the input could not be stored: ${stderr || `exit code ${exitCode}`}`)
  }
}
