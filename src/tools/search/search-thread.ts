import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import type { SearchQuery } from './query.ts'
import type { FromSearchThread, SearchJob, ToSearchThread } from './start-search.ts'

/** The job of the thread. Imports only what it needs, because each file takes time to load. */
async function serve({ query, root }: SearchJob): Promise<void> {
  const answer = (message: FromSearchThread): void => parentPort?.postMessage(message)
  try {
    if (!root) await serveTexts(query, answer)
    else if (query.mode === 'list') answer({ result: (await import('./host-files.ts')).listTree(query, root) })
    else answer({ result: (await import('./host-search.ts')).searchTree(query, root) })
  } catch (error) {
    answer({ problem: messageOf(error) })
  }
}

async function serveTexts(query: SearchQuery, answer: (message: FromSearchThread) => void): Promise<void> {
  const { createTextSearch } = await import('./text-search.ts')
  const search = createTextSearch(query)
  parentPort?.on('message', (message: ToSearchThread) => {
    if ('gaps' in message) answer({ result: search.result(message.gaps) })
    else search.addFile(message.path, Buffer.from(message.text))
  })
}

void serve(workerData)
