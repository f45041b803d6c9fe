import type { Worker } from 'node:worker_threads'
import { messageOf } from '../core/errors.ts'
import { startThread, type ThreadCode } from './start-thread.ts'

/** A thread that stays and does one job after the other, each within a budget of time. */
export interface StandingWorker {
  /**
   * The answer to a job. Rejects with `OutOfTime` when it took longer than `budgetMs`: then the thread was ended,
   * whatever it was doing, and the next job gets a new one. With `JobFailed` when the work threw.
   */
  ask<Answer>(job: unknown, budgetMs: number): Promise<Answer>
  /** Ends the thread and refuses what still waits. */
  close(): Promise<void>
}

/** A job was not done in time. */
export class OutOfTime extends Error {}

/** The work itself threw; its thread is as good as before. */
export class JobFailed extends Error {}

/**
 * A thread whose code calls `answerJobs`; errors call it by its `name`. Started by the first job; while it has nothing to do
 * it does not keep the process alive.
 */
export function standingWorker(code: ThreadCode, name: string): StandingWorker {
  let thread: Promise<Worker> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let isClosed = false

  const work = async (job: unknown, budgetMs: number): Promise<unknown> => {
    if (isClosed) throw new Error(`the thread "${name}" was closed`)
    // It may have died while it had nothing to do.
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

/** A thread has this long to load its module. Far beyond what it takes: a busy machine is no failure. */
const startMs = 30_000
/** Of the heap. */
const maxMemoryMb = 512

async function start(code: ThreadCode): Promise<Worker> {
  const worker = await startThread(code, { maxMemoryMb })
  // An error between two jobs is the next one's to find.
  worker.on('error', () => {})
  try {
    await heard(worker, startMs)
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
    const answer = heard(worker, budgetMs)
    worker.postMessage(job)
    const { result, error } = (await answer) as { result?: unknown; error?: string }
    if (error !== undefined) throw new JobFailed(error)
    return result
  } finally {
    worker.unref()
  }
}

/** The next thing a thread says. */
function heard(worker: Worker, budgetMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => done(() => reject(error))
    const ended = (): void => failed(new Error('its thread ended without an answer'))
    const said = (answer: unknown): void => done(() => resolve(answer))
    const late = setTimeout(() => failed(new OutOfTime(`it took longer than ${budgetMs} ms`)), budgetMs)
    const done = (settle: () => void): void => {
      clearTimeout(late)
      worker.off('message', said).off('error', failed).off('exit', ended)
      settle()
    }
    worker.on('message', said).on('error', failed).on('exit', ended)
  })
}

async function end(thread: Promise<Worker> | undefined): Promise<void> {
  const worker = await thread?.catch(() => undefined)
  await worker?.terminate()
}

/** What the code of such a thread calls: answers one job after the other. */
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
