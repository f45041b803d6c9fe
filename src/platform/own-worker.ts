import { messageOf } from '../core/errors.ts'

export interface OwnWorkerOptions {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Of the heap. Default 512. */
  readonly maxMemoryMb?: number
}

/**
 * Runs a module's own work in a thread of its own, where it can be ended whatever it does. The module at `url` answers
 * with `answerAsWorker`, so that it needs no second file and survives bundling.
 */
export async function inOwnWorker<Result>(url: string, job: unknown, options: OwnWorkerOptions): Promise<Result> {
  const { timeoutMs, signal, maxMemoryMb = 512 } = options
  signal?.throwIfAborted()
  const { Worker } = await import('node:worker_threads')
  const worker = new Worker(new URL(url), {
    workerData: { [url]: job },
    resourceLimits: { maxOldGenerationSizeMb: maxMemoryMb },
    env: {},
    stdin: false,
  })
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

/** At the end of a module that `inOwnWorker` runs: does nothing anywhere but in such a thread. */
export async function answerAsWorker<Job>(url: string, work: (job: Job) => unknown): Promise<void> {
  // Without an import: where there are no threads, nobody is asked.
  const threads = globalThis.process?.getBuiltinModule?.('node:worker_threads')
  const jobs = threads && !threads.isMainThread ? (threads.workerData as Record<string, Job> | null) : undefined
  if (!threads?.parentPort || typeof jobs !== 'object' || jobs === null || !Object.hasOwn(jobs, url)) return
  try {
    threads.parentPort.postMessage({ result: await work(jobs[url]!) })
  } catch (error) {
    threads.parentPort.postMessage({ error: messageOf(error) })
  }
}
