import { AgentError } from '../../../core/errors.ts'
import { JobFailed, JobTimeout, persistentWorker } from '../../../platform/worker-threads.ts'
import { findTiddlyWiki } from './ask-wiki.ts'
import type { WikiNode } from './wiki-nodes.ts'

/** Renders wikitext. */
export interface WikitextRenderer {
  /** The text as elements of an allow-list. Rejects with an `AgentError` if it is too long or takes too long. */
  render(text: string): Promise<readonly WikiNode[]>
  /** Whether the package `tiddlywiki` is installed. */
  readonly isAvailable: boolean
  close(): Promise<void>
}

const mostCharacters = 100_000
/** How many texts may wait for the one thread. */
const mostWaiting = 50
/** Far more than needed, so that a busy machine does not fail. */
const bootMs = 60_000

/** Renders wikitext by TiddlyWiki (the package `tiddlywiki`), in a thread that is ended when a text takes too long. */
export function createWikitextRenderer({
  timeLimitMs = 5000,
}: {
  readonly timeLimitMs?: number
} = {}): WikitextRenderer {
  const thread = persistentWorker(() => new URL('./wikitext-thread.ts', import.meta.url), 'wikitext')
  const program = findTiddlyWiki()
  let waiting = 0

  return {
    isAvailable: program !== undefined,
    async render(text) {
      if (text.length > mostCharacters)
        throw new AgentError(`A wikitext may have ${mostCharacters} characters, this one has ${text.length}`)
      if (waiting >= mostWaiting) throw new AgentError(`${mostWaiting} texts wait to be rendered; try again later`)
      waiting++
      try {
        await thread.ask({ program }, bootMs)
        return await thread.ask<readonly WikiNode[]>({ program, text }, timeLimitMs)
      } catch (cause) {
        if (cause instanceof JobFailed) throw new AgentError(cause.message)
        const why = cause instanceof JobTimeout ? cause.message : 'its thread broke down'
        throw new AgentError(`This wikitext was not rendered: ${why}; show it as it is`, { cause })
      } finally {
        waiting--
      }
    },
    close: () => thread.close(),
  }
}
