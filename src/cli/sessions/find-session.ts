import { nearest } from '../../core/nearest.ts'
import type { SessionInfo, SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import { isAgentId } from './session-id.ts'
import { summarize } from './summary.ts'

/** The id that somebody means by an id, or by a beginning that no other session has. */
export async function findSession(store: SessionStore, asked: string): Promise<string> {
  const all = await store.list()
  if (all.some(({ id }) => id === asked)) return asked
  const ids = newestFirst(all).map(({ id }) => id)
  // Somebody who spells it out means an agent.
  if (isAgentId(asked))
    ids.push(...all.filter(({ id, parent }) => parent === undefined && isAgentId(id)).map(({ id }) => id))
  const meant = asked === '' ? [] : ids.filter((id) => id.startsWith(asked))
  if (meant.length === 1) return meant[0]!
  if (meant.length > 1) throw ambiguous(asked, meant)
  throw unknown(asked, ids)
}

/** Sessions that stand for themselves, no children and no agents, the one that was written last on top. */
export function newestFirst(sessions: readonly SessionInfo[]): SessionInfo[] {
  const own = sessions.filter(({ id, parent, head }) => parent === undefined && head > 0 && !isAgentId(id))
  return own.sort((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0) || (b.createdAt ?? 0) - (a.createdAt ?? 0))
}

/** The one that was begun in a folder and written last. */
export async function latestInFolder(store: SessionStore, cwd: string): Promise<string | undefined> {
  for (const info of newestFirst(await store.list())) {
    const summary = await summarize(store, info).catch(() => undefined) // one that is damaged hides no other
    if (summary?.cwd === cwd && summary.state !== 'empty') return info.id
  }
  return undefined
}

const mostNamed = 5

function ambiguous(asked: string, ids: readonly string[]): CliError {
  const more = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : ''
  const named = ids.slice(0, mostNamed).map((id) => fullyVisible(id))
  return new CliError(`"${fullyVisible(asked)}" may be ${named.join(', ')}${more}; type more of the id`)
}

function unknown(asked: string, ids: readonly string[]): CliError {
  const [meant] = nearest(asked, ids, 1)
  const hint = meant === undefined ? '' : ` (did you mean ${fullyVisible(meant)}?)`
  return new CliError(
    `There is no session "${fullyVisible(asked)}"${hint}; libero sessions list --all names those there are`,
  )
}
