import { dirname } from 'node:path'
import { AgentError, messageOf } from '../../../core/errors.ts'
import { orAborted } from '../../../core/waiting.ts'
import { peerPackages } from '../../../platform/peer-packages.ts'
import { JobFailed, JobTimeout, type PersistentWorker, persistentWorker } from '../../../platform/worker-threads.ts'
import type { WikiToBoot } from './boot-wiki.ts'
import type { WikiQuestion } from './wiki-thread.ts'

/** Sends questions to a wiki in its own thread, one after the other. */
export interface WikiClient {
  ask<Answer>(question: WikiQuestion, signal: AbortSignal | undefined): Promise<Answer>
  /** Runs work while no other such work runs. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

interface WikiClientOptions {
  readonly workspace: string
  readonly folder: string
  readonly loadPlugins: boolean
  readonly timeLimitMs: number
}

/** The first question starts the thread. A question that takes too long or is aborted ends it, and the next starts it again. */
export function createWikiClient({ workspace, folder, loadPlugins, timeLimitMs }: WikiClientOptions): WikiClient {
  let thread: PersistentWorker | undefined
  let isClosed = false
  let lastQuestion: Promise<unknown> = Promise.resolve()
  let lastWork: Promise<unknown> = Promise.resolve()

  const answered = async (question: WikiQuestion, signal: AbortSignal | undefined): Promise<unknown> => {
    signal?.throwIfAborted()
    if (isClosed) throw new AgentError(`The wiki "${workspace}" was closed; open the store again`)
    thread ??= persistentWorker(() => new URL('./wiki-thread.ts', import.meta.url), 'tiddlywiki')
    const asked = thread
    const job: WikiToBoot = { program: findTiddlyWiki(), folder, loadPlugins }
    const abort = (): void => {
      if (thread === asked) thread = undefined
      void asked.close()
    }
    signal?.addEventListener('abort', abort)
    try {
      await asked.ask({ ...job, ask: 'refresh' }, bootMs)
      return await asked.ask({ ...job, ...question }, timeLimitMs)
    } catch (error) {
      signal?.throwIfAborted()
      throw asAgentError(error, question)
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  const asAgentError = (error: unknown, { ask }: WikiQuestion): Error => {
    if (error instanceof JobFailed) return new AgentError(error.message)
    if (error instanceof JobTimeout)
      return new AgentError(
        `The wiki "${workspace}" did not answer "${ask}": ${error.message}, and was stopped; ask for less, such as a simpler filter`,
        { cause: error },
      )
    if (isClosed) return new AgentError(`The wiki "${workspace}" was closed; open the store again`)
    return new AgentError(
      `The wiki "${workspace}" did not answer "${ask}": its thread broke down (${messageOf(error)}); ask for less, such as a simpler filter`,
      { cause: error },
    )
  }

  return {
    ask<Answer>(question: WikiQuestion, signal: AbortSignal | undefined) {
      const answer = lastQuestion.then(() => answered(question, signal))
      lastQuestion = answer.catch(() => {})
      // An aborted question rejects at once, also while it waits in the queue.
      return orAborted(answer, signal) as Promise<Answer>
    },
    exclusively(work) {
      const done = lastWork.then(work)
      lastWork = done.catch(() => {})
      return done
    },
    async close() {
      isClosed = true
      await thread?.close()
      thread = undefined
    },
  }
}

/** For loading the wiki or its changes. Far more than needed, so that a busy machine does not fail. */
const bootMs = 60_000

/** The folder of the package. Found here, as the code of the thread is in no folder. */
export function findTiddlyWiki(): string | undefined {
  try {
    return dirname(peerPackages().resolve('tiddlywiki/package.json'))
  } catch {
    return undefined
  }
}
