import { AgentError } from '../../../core/errors.ts'
import { answerJobs } from '../../../platform/worker-threads.ts'
import type { Tiddler } from '../knowledge-store.ts'
import type { BootedWiki, WikiToBoot } from './boot-wiki.ts'
import { thrownText } from './tiddlywiki-core.ts'

/** A job for the thread of one wiki. The thread reads the folder, and never writes. */
type WikiJob = WikiToBoot & WikiQuestion

export type WikiQuestion =
  | { readonly ask: 'refresh' }
  | { readonly ask: 'get' | 'render' | 'planDelete'; readonly title: string }
  | { readonly ask: 'filter'; readonly filter: string; readonly offset?: number; readonly limit?: number }
  | { readonly ask: 'backlinks'; readonly title: string; readonly limit?: number }
  | { readonly ask: 'tagTree'; readonly title: string; readonly depth?: number }
  | { readonly ask: 'recent'; readonly limit?: number; readonly since?: string }
  | { readonly ask: 'planPut'; readonly tiddler: Tiddler; readonly now: string }

let booted: BootedWiki | undefined

/** TiddlyWiki is loaded only here. */
async function work(job: WikiJob): Promise<unknown> {
  if (!booted) {
    // TiddlyWiki prints messages, which must not reach stdout.
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) console[method] = () => {}
    const { bootWiki } = await import('./boot-wiki.ts')
    booted = bootWiki(job)
  }
  if (job.ask === 'refresh') return booted.reader.refresh()
  if (job.ask === 'planPut' || job.ask === 'planDelete') {
    const { planDelete, planPut } = await import('./plan-change.ts')
    return job.ask === 'planPut' ? planPut(booted, job.tiddler, job.now) : planDelete(booted, job.title)
  }
  if (job.ask === 'render') {
    if (!booted.$tw.wiki.getTiddler(job.title)) return undefined
    const { renderTiddler } = await import('./render-tiddler.ts')
    return renderTiddler(booted.$tw, job.title)
  }
  const { questions } = await import('./questions.ts')
  const answer = questions[job.ask] as ($tw: BootedWiki['$tw'], question: WikiQuestion) => unknown
  return answer(booted.$tw, job)
}

answerJobs(async (job: WikiJob) => {
  try {
    return await work(job)
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw new AgentError(
      `TiddlyWiki failed at "${job.ask}": ${thrownText(error).slice(0, 500)}; ask for less, or correct the wiki`,
    )
  }
})
