import type { Worker } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import { startThread } from '../../platform/worker-threads.ts'
import type { SearchGaps, SearchQuery, SearchResult, SearchRoot } from './query.ts'

/** Without a root the thread waits for texts to search. */
export interface SearchJob {
  readonly query: SearchQuery
  readonly root?: SearchRoot
}

export type ToSearchThread = { readonly path: string; readonly text: string } | { readonly gaps: SearchGaps }
export type FromSearchThread = { readonly result: SearchResult } | { readonly problem: string }

/** A search in its own thread: it does not block the process, and can be ended if the pattern never terminates. */
export interface SearchThread {
  readonly result: Promise<SearchResult>
  /** Must be called in the order of the result. */
  addText(path: string, text: string): void
  /** Marks the end of the texts; the thread answers when it has searched them. */
  finish(gaps: SearchGaps): void
}

/** The time the thread gets beyond the limit of the search. */
const graceMs = 2000
const maxMemoryMb = 1024

export async function startSearch(job: SearchJob, signal: AbortSignal): Promise<SearchThread> {
  const code = () => new URL('./search-thread.ts', import.meta.url)
  const worker = await startThread(code, { workerData: job, maxMemoryMb })
  const send = (message: ToSearchThread): void => worker.postMessage(message)
  return {
    result: answerOf(worker, job.query.limitMs, signal),
    addText: (path, text) => send({ path, text }),
    finish: (gaps) => send({ gaps }),
  }
}

function answerOf(worker: Worker, limitMs: number, signal: AbortSignal): Promise<SearchResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SearchResult>()
  const abort = (): void => reject(signal.reason)
  const limit = setTimeout(() => reject(new Error(tooSlow(limitMs))), limitMs + graceMs)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  worker.once('message', (answer: FromSearchThread) => {
    if ('result' in answer) resolve(answer.result)
    else reject(new Error(answer.problem))
  })
  worker.once('error', (error) => reject(new Error(`the search failed: ${messageOf(error)}`, { cause: error })))
  worker.once('exit', () => reject(new Error('the search ended without a result; try a smaller folder')))
  return promise.finally(async () => {
    clearTimeout(limit)
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  })
}

const tooSlow = (limitMs: number): string =>
  `the search was given up after ${Math.round(limitMs / 1000)} seconds: without ripgrep, this pattern takes too long on some text; simplify it, or search fewer files`
