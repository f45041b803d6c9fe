import { AgentError } from '../../../core/errors.ts'
import { answerJobs } from '../../../platform/worker-threads.ts'
import { type TiddlyWikiCore, thrownText } from './tiddlywiki-core.ts'

let booted: TiddlyWikiCore | undefined

/** Renders a text by a wiki without tiddlers of its own. TiddlyWiki is loaded only here. */
answerJobs(async ({ program, text }: { readonly program: string | undefined; readonly text?: string }) => {
  if (!booted) {
    // TiddlyWiki prints messages, which must not reach stdout.
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) console[method] = () => {}
    const { bootEmptyWiki } = await import('./boot-wiki.ts')
    booted = bootEmptyWiki(program)
  }
  if (text === undefined) return undefined
  const { wikiNodes } = await import('./wiki-nodes.ts')
  try {
    const container = booted.fakeDocument.createElement('div')
    const parser = booted.wiki.parseText('text/vnd.tiddlywiki', text)
    booted.wiki.makeWidget(parser, { document: booted.fakeDocument }).render(container, null)
    return wikiNodes(container)
  } catch (error) {
    throw new AgentError(`TiddlyWiki cannot render this text: ${thrownText(error).slice(0, 300)}`)
  }
})
