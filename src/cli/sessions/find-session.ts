import { nearest } from '../../core/nearest.ts'
import type { SessionSummary as SessionInfo, SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { allSessions } from '../../sessions/session-query.ts'
import { CliError } from '../cli-error.ts'
import { isAgentId } from './session-id.ts'
import { summarize } from './summary.ts'

/** The full id for an id, or for a prefix that only one session has. */
export async function findSession(store: SessionStore, idOrPrefix: string): Promise<string> {
  const all = await allSessions(store)
  if (all.some(({ id }) => id === idOrPrefix)) return idOrPrefix
  const ids = newestFirst(all).map(({ id }) => id)
  // Sessions of agents are found only by the prefix of agents.
  if (isAgentId(idOrPrefix))
    ids.push(...all.filter(({ id, parent }) => parent === undefined && isAgentId(id)).map(({ id }) => id))
  const matches = idOrPrefix === '' ? [] : ids.filter((id) => id.startsWith(idOrPrefix))
  if (matches.length === 1) return matches[0]!
  throw matches.length > 1 ? ambiguous(idOrPrefix, matches) : unknown(idOrPrefix, ids)
}

/** Sessions without those of children and agents, the most recently written first. */
export function newestFirst(sessions: readonly SessionInfo[]): SessionInfo[] {
  const own = sessions.filter(({ id, parent, head }) => parent === undefined && head > 0 && !isAgentId(id))
  return own.sort((a, b) => (b.updatedAt ?? 0) - (a.updatedAt ?? 0) || (b.createdAt ?? 0) - (a.createdAt ?? 0))
}

/** The most recently written session that was begun in a folder. */
export async function latestInFolder(store: SessionStore, cwd: string): Promise<string | undefined> {
  for (const info of newestFirst(await allSessions(store))) {
    const summary = await summarize(store, info).catch(() => undefined) // a damaged one is skipped
    if (summary?.cwd === cwd && summary.state !== 'empty') return info.id
  }
  return undefined
}

const mostNamed = 5

function ambiguous(idOrPrefix: string, ids: readonly string[]): CliError {
  const more = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : ''
  const named = ids.slice(0, mostNamed).map((id) => fullyVisible(id))
  return new CliError(`"${fullyVisible(idOrPrefix)}" may be ${named.join(', ')}${more}; type more of the id`)
}

function unknown(idOrPrefix: string, ids: readonly string[]): CliError {
  const [similar] = nearest(idOrPrefix, ids, 1)
  const hint = similar === undefined ? '' : ` (did you mean ${fullyVisible(similar)}?)`
  return new CliError(
    `There is no session "${fullyVisible(idOrPrefix)}"${hint}; libero sessions list --all shows all of them`,
  )
}
