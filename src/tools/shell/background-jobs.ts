import { messageOf } from '../../core/errors.ts'
import type { ExecOptions, ExecResult, ExecutionContext, ExecutionHandle } from '../../core/execution.ts'
import { OutputCollector } from './output-collector.ts'
import { endOf, joinLines, type ShellToolResult, shortCommand, withTruncationMarker } from './shell-result.ts'

/** The background jobs of an execution handle. They continue across runs, and end when the handle is destroyed. */
export function jobsOf(handle: ExecutionHandle): Jobs {
  let jobs = jobsByHandle.get(handle)
  if (!jobs) jobsByHandle.set(handle, (jobs = new Jobs()))
  return jobs
}

/** Weak, so that jobs are dropped with their handle. */
const jobsByHandle = new WeakMap<ExecutionHandle, Jobs>()

const maxRunning = 20
const maxEnded = 20

class Jobs {
  readonly #jobs = new Map<number, Job>()
  #last = 0

  start(execution: ExecutionContext, handle: ExecutionHandle, options: JobOptions): Job {
    const running = this.all.filter((job) => !job.ended)
    if (running.length >= maxRunning)
      throw new Error(`${running.length} jobs are running already; stop one with shell_stop first\n${listOf(running)}`)
    const ended = this.all.filter((job) => job.ended)
    for (const job of ended.slice(0, Math.max(0, ended.length - maxEnded))) this.#jobs.delete(job.id)
    const job = new Job(++this.#last, execution, handle, options)
    this.#jobs.set(job.id, job)
    return job
  }

  get all(): readonly Job[] {
    return [...this.#jobs.values()]
  }

  /** Throws if there is no such job; the error lists the others. */
  find(id: number): Job {
    const job = this.#jobs.get(id)
    if (!job) throw new Error(`there is no job ${id}; ${this.summary}`)
    return job
  }

  forget(job: Job): void {
    this.#jobs.delete(job.id)
  }

  get summary(): string {
    return this.#jobs.size > 0 ? `the jobs are:\n${listOf(this.all)}` : 'no job was started here'
  }
}

interface JobOptions {
  readonly command: string
  readonly cwd: string | undefined
  /** Bytes of unread output that are kept. */
  readonly maxBytes: number
  readonly call?: NonNullable<ExecOptions['call']>
}

/** A command that continues after the call that started it. */
class Job {
  readonly id: number
  readonly command: string
  /** The unread output. */
  readonly output: OutputCollector
  ended: JobEnd | undefined
  readonly #startedAt = performance.now()
  readonly #controller = new AbortController()
  readonly #watchers = new Set<() => void>()
  #isStopped = false

  constructor(id: number, execution: ExecutionContext, handle: ExecutionHandle, options: JobOptions) {
    const { command, cwd, maxBytes, call } = options
    this.id = id
    this.command = command
    this.output = new OutputCollector({ maxBytes })
    const onOutput = (text: string, from: 'stdout' | 'stderr'): void => {
      this.output.receive(text, from)
      this.#notifyWatchers()
    }
    const { signal } = this.#controller
    const more = { ...(cwd !== undefined && { cwd }), ...(call && { call }) }
    void (async () => execution.exec(handle, command, { timeout: 0, signal, onOutput, ...more }))().then(
      (result) => {
        this.output.receiveAll(result)
        this.#end({ result, elapsedMs: this.elapsedMs })
      },
      (error: unknown) => this.#end({ error, elapsedMs: this.elapsedMs }),
    )
  }

  get elapsedMs(): number {
    return this.ended?.elapsedMs ?? Math.round(performance.now() - this.#startedAt)
  }

  /** The output since the last report, and the status. */
  report(): ShellToolResult {
    const body = withTruncationMarker(this.output.take()) || '(no new output)'
    return { output: joinLines(body, `(job ${this.id}: ${this.status})`), isError: false, details: this.facts }
  }

  /** Details for screens. */
  get facts(): Readonly<Record<string, unknown>> {
    const { id, command, status, ended, elapsedMs } = this
    const exitCode = ended?.result?.exitCode
    return { job: id, command, status, isRunning: !ended, elapsedMs, ...(exitCode !== undefined && { exitCode }) }
  }

  /** `running for 12s`, `exit 0 after 3s`, `stopped after 3s`. */
  get status(): string {
    if (!this.ended)
      return `${this.#isStopped ? 'being stopped, still running' : 'running'} for ${seconds(this.elapsedMs)}`
    const { result, error } = this.ended
    const after = `after ${seconds(this.elapsedMs)}`
    if (this.#isStopped) return `stopped ${after}`
    return result ? `${endOf(result)} ${after}` : `failed ${after}: ${messageOf(error)}`
  }

  /** Resolves when there is output or the job has ended; at the latest after `ms`. */
  async until(what: 'output' | 'end', ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    const isReached = (): boolean => this.ended !== undefined || (what === 'output' && !this.output.isEmpty)
    if (isReached() || ms <= 0) return
    let done = (): void => {}
    const waiting = new Promise<void>((resolve) => (done = resolve))
    const check = (): void => void (isReached() && done())
    const timer = setTimeout(done, ms)
    this.#watchers.add(check)
    signal?.addEventListener('abort', done)
    try {
      await waiting
      signal?.throwIfAborted()
    } finally {
      clearTimeout(timer)
      this.#watchers.delete(check)
      signal?.removeEventListener('abort', done)
    }
  }

  /** Ends the job. */
  async stop(): Promise<void> {
    if (this.ended) return
    this.#isStopped = true
    this.#controller.abort(new Error('the job was stopped'))
    await this.until('end', stopTimeoutMs)
  }

  #end(end: JobEnd): void {
    this.ended = end
    this.output.close()
    this.#notifyWatchers()
  }

  #notifyWatchers(): void {
    for (const check of this.#watchers) check()
  }
}

interface JobEnd {
  readonly result?: ExecResult
  readonly error?: unknown
  readonly elapsedMs: number
}

/** How long the execution context may take to end a job. */
const stopTimeoutMs = 5000

/** One line for each. */
function listOf(jobs: readonly Job[]): string {
  return jobs.map((job) => `job ${job.id} (${job.status}): ${shortCommand(job.command)}`).join('\n')
}

const seconds = (ms: number): string => (ms < 10_000 ? `${(ms / 1000).toFixed(1)}s` : `${Math.round(ms / 1000)}s`)
