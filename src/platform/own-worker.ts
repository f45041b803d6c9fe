import { messageOf } from '../core/errors.ts'
import { startThread, type ThreadCode } from './start-thread.ts'

export interface OwnWorkerOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Of the heap. Default 512. */
  readonly maxMemoryMb?: number
}

/** Does a job in a thread of its own, where it can be ended whatever it does. The code of the thread calls `answerJob`. */
export async function inOwnWorker<Result>(code: ThreadCode, job: unknown, options: OwnWorkerOptions): Promise<Result> {
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

/** What the code of such a thread calls: does the job, and answers with its result. */
export async function answerJob<Job>(work: (job: Job) => unknown): Promise<void> {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  try {
    parentPort?.postMessage({ result: await work(workerData as Job) })
  } catch (error) {
    parentPort?.postMessage({ error: messageOf(error) })
  }
}
