import { CodedError } from '../core/errors.ts'
import type { ExecResult } from '../core/execution.ts'
import type { JsonSchema, ToolContext, ToolDef, ToolResult } from '../core/tool.ts'
import { commandKey } from './approval-keys.ts'
import { shownPath } from './file-problem.ts'
import { jobsOf } from './shell/background-jobs.ts'
import { OutputCollector } from './shell/output-collector.ts'
import { shellResult, shortCommand, withTruncationMarker } from './shell/shell-result.ts'

const description = `Runs a shell command and gives back its output (stdout and stderr as they came; only the end, if it is long) and its exit code.
There is no terminal and nothing to type into it: pass flags such as --yes, and no editors or pagers.
Every command starts anew in the working directory; cd and variables are not kept. What a command leaves running is stopped.`

const backgroundDescription =
  'For servers, watchers and long work: comes back at once with a job number, for shell_output and shell_stop.'

const outsideDescription = 'Only for a command that the sandbox stopped: asks a person to run it outside.'

export interface ShellInput {
  readonly command: string
  /** Milliseconds. */
  readonly timeout?: number
  readonly cwd?: string
  readonly background?: boolean
  /** Asks a person to run it outside any sandbox. */
  readonly outside?: boolean
  /** Why, for the person. */
  readonly reason?: string
  // Accepted, but not in the schema, to keep it short.
  readonly maxOutputBytes?: number
  readonly metadata?: boolean
  readonly description?: string
}

/** A tool that runs shell commands in the execution context. */
export function createShellTool({
  maxOutputBytes = 32_768,
  metadata = true,
  timeoutMs = 120_000,
  maxTimeoutMs = 600_000,
  background = true,
}: {
  /** How many bytes at the end of the output are kept. Default 32768; 0 for all. */
  readonly maxOutputBytes?: number
  /** Default true; false gives stdout alone, without stderr, exit code and time. */
  readonly metadata?: boolean
  /** Default 120000. */
  readonly timeoutMs?: number
  /** The most the model may ask for. Default 600000; 0 for any. */
  readonly maxTimeoutMs?: number
  /** Offers background jobs; `shell_output` and `shell_stop` belong to them. Default true. */
  readonly background?: boolean
} = {}): ToolDef {
  const settings: Settings = { maxOutputBytes, metadata, timeoutMs, maxTimeoutMs, background }
  return {
    spec: { name: 'shell', description, inputSchema: inputSchema(settings) },
    isConcurrencySafe: async ({ command, background }) =>
      background !== true && (await shellLines()).onlyReads(command),
    replay: 'opaque',
    effects: ['exec'],
    commandLine: ({ command, cwd, outside, background }) => ({
      command,
      ...(cwd !== undefined && { cwd }),
      ...(outside === true && { isOutside: true }),
      ...(background === true && { isBackground: true }),
    }),
    deriveApprovalKey: ({ command, cwd }) => commandKey(command, cwd),
    cancelsSiblings: true,
    timeoutMs: 0, // each command has its own limit
    execute(input, ctx) {
      if (!ctx.execution.capabilities.shell) throw new Error(noShell(ctx.execution.type))
      if (input.command.trim() === '') throw new Error('the command is empty; say what to run')
      if (input.command.includes('\0'))
        throw new CodedError('ToolTerminal/InputInvalid', 'the command holds a NUL character, which no shell can read')
      const { cwd = '' } = input
      if (cwd.includes('\0') || cwd.length > maxPathLength)
        throw new Error(`${shownPath(cwd)} is no folder to run in; leave cwd out, or give the path of one`)
      if (input.background !== true) return runCommand(input, ctx, settings)
      if (!settings.background) throw new Error('there are no background jobs here; run it without background: true')
      return startJob(input, ctx, settings)
    },
  }
}

export const shell: ToolDef = createShellTool()

const maxPathLength = 1024

type Settings = Required<NonNullable<Parameters<typeof createShellTool>[0]>>

function inputSchema({ timeoutMs, maxTimeoutMs, background }: Settings): JsonSchema {
  const limit = maxTimeoutMs > 0 ? `, at most ${maxTimeoutMs}` : ''
  return {
    type: 'object',
    properties: {
      command: { type: 'string' },
      timeout: { type: 'integer', description: `Milliseconds. Default ${timeoutMs}${limit}.` },
      cwd: { type: 'string', description: 'Folder to run in.' },
      ...(background && { background: { type: 'boolean', description: backgroundDescription } }),
      outside: { type: 'boolean', description: outsideDescription },
      reason: { type: 'string', description: 'Why it must run outside.' },
    },
    required: ['command'],
  }
}

function noShell(type: string): string {
  const way = process.platform === 'win32' ? 'use WSL, or a Docker execution context' : 'use the other tools'
  return `commands cannot be run here: the execution context "${type}" has no shell; ${way}`
}

async function runCommand(input: ShellInput, ctx: ToolContext, settings: Settings): Promise<ToolResult> {
  const { command } = input
  const metadata = readFlag(input.metadata) ?? settings.metadata
  const timeoutMs = timeoutOf(input, settings)
  const collector = new OutputCollector({
    maxBytes: maxBytesOf(input, settings),
    bare: !metadata,
    progress: ctx.progress,
  })
  ctx.ifInterrupted?.(() => withTruncationMarker(collector.take()))
  const startedAt = performance.now()
  try {
    const result = await execWithin(input, ctx, timeoutMs, collector)
    collector.receiveAll(result)
    const elapsedMs = Math.round(performance.now() - startedAt)
    const output = collector.take()
    const isNo = await meansNo(command, result)
    return shellResult({ ...settings, isNo, result, output, elapsedMs, timeoutMs }, { metadata })
  } finally {
    collector.close()
  }
}

/** Whether the command answered "nothing found" or "false", as `grep` does by exit code 1. */
async function meansNo(command: string, { exitCode }: ExecResult): Promise<boolean> {
  if (exitCode !== 1) return false
  return (await shellLines()).exitOneMeansNo(command).catch(() => false)
}

const shellLines = () => import('../shell/line-questions.ts')

/** The context enforces the time limit; if it does not, the call ends anyway. */
async function execWithin(
  { command, cwd }: ShellInput,
  { execution, handle, signal, runId, callId }: ToolContext,
  timeoutMs: number,
  collector: OutputCollector,
): Promise<ExecResult> {
  const limit = new AbortController()
  const stopCollecting = (): void => collector.close()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<ExecResult>((resolve) => {
    if (timeoutMs === 0) return
    timer = setTimeout(() => {
      limit.abort(new Error(`the command took longer than ${timeoutMs} ms`))
      resolve({ stdout: '', stderr: '', exitCode: null, timedOut: true })
    }, timeoutMs + graceMs)
  })
  signal.addEventListener('abort', stopCollecting)
  try {
    const work = execution.exec(handle, command, {
      timeout: timeoutMs,
      signal: AbortSignal.any([signal, limit.signal]),
      onOutput: collector.receive,
      call: { runId, callId },
      ...(cwd !== undefined && { cwd }),
    })
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stopCollecting)
  }
}

/** The time a context needs to end a command properly, and a little more. */
const graceMs = 5000

/** The requested timeout within its bounds. 0 requests the maximum. */
function timeoutOf({ timeout }: ShellInput, { timeoutMs, maxTimeoutMs }: Settings): number {
  const asked = timeout === undefined ? timeoutMs : Math.max(0, timeout)
  const maxAsked = maxTimeoutMs || maxTimerMs
  if (asked === 0) return maxTimeoutMs
  return Math.min(asked, maxAsked, maxTimerMs)
}

/** The maximum of Node's timers, without `graceMs`. */
const maxTimerMs = 2 ** 31 - 1 - graceMs

function maxBytesOf(input: ShellInput, { maxOutputBytes }: Settings): number {
  const asked = Number(input.maxOutputBytes ?? maxOutputBytes)
  return Number.isFinite(asked) && asked >= 0 ? Math.floor(asked) : maxOutputBytes
}

/** The schema does not contain this property, so its value was not converted. */
function readFlag(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (value === 'false') return false
  return value === 'true' ? true : undefined
}

/** Starts a background job; returns once it is clear that the command did not fail at once. */
async function startJob(input: ShellInput, ctx: ToolContext, settings: Settings): Promise<ToolResult> {
  const { command, cwd } = input
  const jobs = jobsOf(ctx.handle)
  const maxBytes = Math.min(maxBytesOf(input, settings) || maxUnreadBytes, maxUnreadBytes)
  const { runId, callId } = ctx
  const job = jobs.start(ctx.execution, ctx.handle, { command, cwd, maxBytes, call: { runId, callId } })
  ctx.ifInterrupted?.(() => withTruncationMarker(job.output.take()))
  try {
    await job.until('end', earlyMs, ctx.signal)
  } catch (error) {
    await job.stop()
    jobs.forget(job)
    throw error
  }
  if (!job.ended) {
    const started = `Started job ${job.id}: ${shortCommand(command)}`
    const first = job.output.isEmpty ? '' : `\n${withTruncationMarker(job.output.take())}`
    return { output: started + first, details: job.facts }
  }
  jobs.forget(job)
  const { result, error, elapsedMs } = job.ended
  if (!result) throw error
  const output = job.output.take()
  const isNo = await meansNo(command, result)
  return shellResult({ ...settings, isNo, result, output, elapsedMs, timeoutMs: 0, isJob: true }, { metadata: true })
}

/** A command that fails at once fails within this time. */
const earlyMs = 300
/** Bounds the unread output of a job. */
const maxUnreadBytes = 1024 * 1024
