import { parentPort, Worker, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import type { SearchGaps, SearchPlace, SearchQuery, SearchResult } from './query.ts'

/** By this a thread knows that it was started here, and that it is to run this module rather than to import it. */
const mark = 'libero-search'

/** Without a place the thread waits for texts. */
interface Job {
  readonly query: SearchQuery
  readonly place?: SearchPlace
}

type ToThread = { readonly path: string; readonly text: string } | { readonly gaps: SearchGaps }
type FromThread = { readonly result: SearchResult } | { readonly problem: string }

/** A search in a thread of its own: nothing else waits for it, and a pattern that never ends can be ended. */
export interface SearchThread {
  readonly result: Promise<SearchResult>
  /** In the order of the result. */
  addText(path: string, text: string): void
  /** All texts were given; the thread answers when it has searched them. */
  finish(gaps: SearchGaps): void
}

/** How much longer than the search itself the thread may live. */
const graceMs = 2000
const mostMemoryMb = 1024

export function startSearch(job: Job, signal: AbortSignal): SearchThread {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { [mark]: job },
    resourceLimits: { maxOldGenerationSizeMb: mostMemoryMb },
  })
  const tell = (message: ToThread): void => worker.postMessage(message)
  return {
    result: answerOf(worker, job.query.limitMs, signal),
    addText: (path, text) => tell({ path, text }),
    finish: (gaps) => tell({ gaps }),
  }
}

function answerOf(worker: Worker, limitMs: number, signal: AbortSignal): Promise<SearchResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SearchResult>()
  const abort = (): void => reject(signal.reason)
  const limit = setTimeout(() => reject(new Error(tooSlow(limitMs))), limitMs + graceMs)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  worker.once('message', (answer: FromThread) => {
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

const given: Job | undefined = workerData?.[mark]
if (given) void serve(given)

/** What the thread does. Each file takes time to load, so it loads what it needs. */
async function serve({ query, place }: Job): Promise<void> {
  const answer = (message: FromThread): void => parentPort?.postMessage(message)
  try {
    if (!place) await serveTexts(query, answer)
    else if (query.mode === 'list') answer({ result: (await import('./tree.ts')).listTree(query, place) })
    else answer({ result: (await import('./search-tree.ts')).searchTree(query, place) })
  } catch (error) {
    answer({ problem: messageOf(error) })
  }
}

async function serveTexts(query: SearchQuery, answer: (message: FromThread) => void): Promise<void> {
  const { createTextSearch } = await import('./text-search.ts')
  const search = createTextSearch(query)
  parentPort?.on('message', (message: ToThread) => {
    if ('gaps' in message) answer({ result: search.result(message.gaps) })
    else search.addFile(message.path, Buffer.from(message.text))
  })
}
