import { messageOf } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { AttachedTiddler } from '../../plugins/message.ts'
import type { KnowledgeStore, Wiki } from '../../plugins/wiki/knowledge-store.ts'
import { hasText } from '../../plugins/wiki/tools/page-text.ts'
import { CliError, UsageError } from '../cli-error.ts'

/** Refuses pages that are not there, before anything is said: a model would get a remark in their place, and a person nothing. */
export async function checkPages(
  knowledge: KnowledgeStore | undefined,
  pages: readonly AttachedTiddler[] = [],
): Promise<void> {
  for (const page of pages) await checkPage(knowledge, page)
}

async function checkPage(
  knowledge: KnowledgeStore | undefined,
  { workspaceName, tiddlerTitle }: AttachedTiddler,
): Promise<void> {
  const flag = `--attach ${shown(`${workspaceName}/${tiddlerTitle}`)}`
  const names = ((await knowledge?.workspaces()) ?? []).map(({ name }) => name)
  if (!knowledge || names.length === 0) {
    const name = /^[\w-]{1,40}$/.test(workspaceName) ? workspaceName : 'notes'
    throw new UsageError(
      `${flag}: there are no wikis here; name one with: libero config set wikis.${name} '{"folder": "~/${name}"}'`,
    )
  }
  if (!names.includes(workspaceName))
    throw new UsageError(`${flag}: there is no wiki "${shown(workspaceName)}"; there is ${listed(names)}`)
  const flaw = await flawOf(knowledge, { workspaceName, tiddlerTitle }).catch((error: unknown) => {
    const why = fullyVisible(messageOf(error).slice(0, 500))
    throw new CliError(`${flag} cannot be read: ${why}; see: libero config get wikis`, undefined, { cause: error })
  })
  if (flaw !== undefined) throw new UsageError(`${flag}: ${flaw}`)
}

async function flawOf(
  knowledge: KnowledgeStore,
  { workspaceName, tiddlerTitle }: AttachedTiddler,
): Promise<string | undefined> {
  const wiki = await knowledge.open(workspaceName)
  const page = await wiki.get(tiddlerTitle)
  if (page) return hasText(page) ? undefined : `it holds ${shown(page.type ?? '')}, not text; name another page`
  const near = (await similarTitles(wiki, tiddlerTitle)).map((one) => `"${shown(one)}"`)
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'none has a title like that'
  return `there is no such page; ${hint}`
}

const mostNamed = 10
const mostCompared = 2000

async function similarTitles(wiki: Wiki, title: string): Promise<readonly string[]> {
  const { titles } = await wiki.filter('[!is[system]]', { limit: mostCompared })
  const known = titles.filter((one) => one.length <= 200)
  const part = title.toLowerCase()
  const containing = part.length < 3 ? [] : known.filter((one) => one.toLowerCase().includes(part))
  return [...new Set([...nearest(title, known), ...containing])].slice(0, 3)
}

function listed(names: readonly string[]): string {
  const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
  return `${names.slice(0, mostNamed).map(shown).join(', ')}${more}`
}

const shown = (text: string): string => fullyVisible(text.slice(0, 100))
