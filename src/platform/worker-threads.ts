import type { Worker } from 'node:worker_threads'
import { messageOf } from '../core/errors.ts'

/** A thread that stays and does one job after the other, each within a time limit. */
export interface PersistentWorker {
  /**
   * The answer to a job. Rejects with `JobTimeout` if it takes longer than `budgetMs`: then the thread is ended, and the next
   * job gets a new one. Rejects with `JobFailed` if the work throws.
   */
  ask<Answer>(job: unknown, budgetMs: number): Promise<Answer>
  /** Ends the thread and rejects waiting jobs. */
  close(): Promise<void>
}

/** A job was not done in time. */
export class JobTimeout extends Error {}

/** The work itself threw; its thread can be used again. */
export class JobFailed extends Error {}

/**
 * Creates a thread whose code calls `answerJobs`; `name` is for error messages. It is started by the first job, and does not
 * keep the process alive while it is idle.
 */
export function persistentWorker(code: ThreadCode, name: string): PersistentWorker {
  let thread: Promise<Worker> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const work = async (job: unknown, budgetMs: number): Promise<unknown> => {
    if (isClosed) throw new Error(`the thread "${name}" was closed`)
    // It may have died while it was idle.
    if (thread && (await thread).threadId === -1) thread = undefined
    thread ??= start(code)
    try {
      return await answerOf(await thread, job, budgetMs)
    } catch (error) {
      if (error instanceof JobFailed) throw error
      const broken = thread
      thread = undefined
      await end(broken)
      throw error
    }
  }

  return {
    ask<Answer>(job: unknown, budgetMs: number) {
      const answer = last.then(() => work(job, budgetMs))
      last = answer.catch(() => {})
      return answer as Promise<Answer>
    },
    async close() {
      isClosed = true
      const running = thread
      thread = undefined
      await end(running)
    },
  }
}

/** The time limit for loading the thread's module, long enough for a busy machine. */
const startMs = 30_000
/** Of the heap. */
const maxMemoryMb = 512

async function start(code: ThreadCode): Promise<Worker> {
  const worker = await startThread(code, { maxMemoryMb })
  // The next job notices an error between two jobs.
  worker.on('error', () => {})
  try {
    await nextMessage(worker, startMs)
  } catch (error) {
    await worker.terminate()
    throw error
  }
  worker.unref()
  return worker
}

async function answerOf(worker: Worker, job: unknown, budgetMs: number): Promise<unknown> {
  if (worker.threadId === -1) throw new Error('its thread was ended')
  worker.ref()
  try {
    const answer = nextMessage(worker, budgetMs)
    worker.postMessage(job)
    const { result, error } = (await answer) as { result?: unknown; error?: string }
    if (error !== undefined) throw new JobFailed(error)
    return result
  } finally {
    worker.unref()
  }
}

/** The next message of a thread. */
function nextMessage(worker: Worker, budgetMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => done(() => reject(error))
    const ended = (): void => failed(new Error('its thread ended without an answer'))
    const received = (answer: unknown): void => done(() => resolve(answer))
    const late = setTimeout(() => failed(new JobTimeout(`it took longer than ${budgetMs} ms`)), budgetMs)
    const done = (settle: () => void): void => {
      clearTimeout(late)
      worker.off('message', received).off('error', failed).off('exit', ended)
      settle()
    }
    worker.on('message', received).on('error', failed).on('exit', ended)
  })
}

async function end(thread: Promise<Worker> | undefined): Promise<void> {
  const worker = await thread?.catch(() => undefined)
  await worker?.terminate()
}

/** Called by the code of a persistent thread: answers one job after the other. */
export function answerJobs<Job>(work: (job: Job) => unknown): void {
  const { parentPort } = process.getBuiltinModule('node:worker_threads')
  parentPort?.on('message', async (job: Job) => {
    try {
      parentPort.postMessage({ result: await work(job) })
    } catch (error) {
      parentPort.postMessage({ error: messageOf(error) })
    }
  })
  parentPort?.postMessage('ready')
}

/**
 * Where the code of a thread is. From source: its file, written as `() => new URL('./…-thread.ts', import.meta.url)`.
 * `scripts/build.ts` turns that expression into an import of the thread's whole code as one text, because the URL of a
 * module names the application's own program once the application is bundled.
 */
export type ThreadCode = () => URL | Promise<string>

export interface ThreadOptions {
  readonly workerData?: unknown
  /** The heap limit. */
  readonly maxMemoryMb: number
}

/** Starts a thread that runs the given code and nothing of the program around it: no preloaded modules, no environment. */
export async function startThread(code: ThreadCode, { workerData, maxMemoryMb }: ThreadOptions): Promise<Worker> {
  const [{ Worker }, script] = await Promise.all([import('node:worker_threads'), code()])
  return new Worker(script, {
    eval: typeof script === 'string',
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
    env: typeof script === 'string' ? {} : compileCache(),
    // Otherwise the program's `--import`, `--require` and `--input-type` would apply to the thread too.
    execArgv: [],
    stdin: false,
  })
}

/** Without the cache, each thread would compile its source files again. */
function compileCache(): Record<string, string> {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
}

export interface OwnWorkerOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** The heap limit. Default 512. */
  readonly maxMemoryMb?: number
}

/** Does one job in a new thread, which can be ended whatever it does. The code of the thread calls `answerJob`. */
export async function runInWorker<Result>(code: ThreadCode, job: unknown, options: OwnWorkerOptions): Promise<Result> {
  const { timeoutMs, signal, maxMemoryMb = 512 } = options
  signal?.throwIfAborted()
  const worker = await startThread(code, { workerData: job, maxMemoryMb })
  let stop: () => void = () => {}
  try {
    return await new Promise<Result>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`it took longer than ${timeoutMs} ms`)), timeoutMs)
      const abort = (): void => reject(signal?.reason)
      stop = () => {
        clearTimeout(late)
        signal?.removeEventListener('abort', abort)
      }
      signal?.addEventListener('abort', abort)
      worker.once('message', (answer: { result: Result } | { error: string }) =>
        'error' in answer ? reject(new Error(answer.error)) : resolve(answer.result),
      )
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('its thread ended without an answer')))
    })
  } finally {
    stop()
    await worker.terminate()
  }
}

/** Called by the code of a thread for one job: does the job and sends its result. */
export async function answerJob<Job>(work: (job: Job) => unknown): Promise<void> {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  try {
    parentPort?.postMessage({ result: await work(workerData as Job) })
  } catch (error) {
    parentPort?.postMessage({ error: messageOf(error) })
  }
}
