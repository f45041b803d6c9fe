import { nearest } from '../../core/nearest.ts'
import type { SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { pageWhere } from '../../sessions/session-query.ts'
import { CliError } from '../cli-error.ts'
import { isAgentId, isOwnSession } from './session-id.ts'

const mostNamed = 5

/** The full id for an id, or for a prefix that only one session has. */
export async function findSession(store: SessionStore, idOrPrefix: string): Promise<string> {
  if (await store.find(idOrPrefix)) return idOrPrefix
  if (idOrPrefix === '') throw await unknown(store, idOrPrefix)
  // Sessions of agents are found only by the prefix of agents.
  const isMeant = isAgentId(idOrPrefix) ? () => true : isOwnSession
  const query = { prefix: idOrPrefix, parent: null, limit: mostNamed + 1 }
  const ids = (await pageWhere(store, query, isMeant)).sessions.map(({ id }) => id)
  if (ids.length === 1) return ids[0]!
  throw ids.length > 1 ? ambiguous(idOrPrefix, ids) : await unknown(store, idOrPrefix)
}

/** The most recently written session that was begun in a folder and has a message. */
export async function latestInFolder(store: SessionStore, folder: string): Promise<string | undefined> {
  const query = { folder, parent: null, limit: 1 }
  const { sessions } = await pageWhere(store, query, (session) => isOwnSession(session) && session.turns > 0)
  return sessions[0]?.id
}

function ambiguous(idOrPrefix: string, ids: readonly string[]): CliError {
  const more = ids.length > mostNamed ? ' and others' : ''
  const named = ids.slice(0, mostNamed).map((id) => fullyVisible(id))
  return new CliError(`"${fullyVisible(idOrPrefix)}" may be ${named.join(', ')}${more}; type more of the id`)
}

/** Of so many of the latest sessions one may have been meant. */
const mostCompared = 500

async function unknown(store: SessionStore, idOrPrefix: string): Promise<CliError> {
  const { sessions } = await store.list({ parent: null, limit: mostCompared })
  const ids = sessions.filter(isOwnSession).map(({ id }) => id)
  const [similar] = nearest(idOrPrefix, ids, 1)
  const hint = similar === undefined ? '' : ` (did you mean ${fullyVisible(similar)}?)`
  return new CliError(
    `There is no session "${fullyVisible(idOrPrefix)}"${hint}; libero sessions list --all shows all of them`,
  )
}
