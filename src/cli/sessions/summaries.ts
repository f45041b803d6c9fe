import { join } from 'node:path'
import { isRecord } from '../../core/is-record.ts'
import type { SessionInfo, SessionStore } from '../../core/store.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import type { Io } from '../io.ts'
import { stateWords } from './state-words.ts'
import { type SessionSummary, summarize } from './summary.ts'

/** Summaries of sessions, of which those that did not change are not made again. */
interface Summaries {
  of(info: SessionInfo): Promise<SessionSummary>
  /** Keeps what was learnt about these sessions, and forgets all others. */
  keep(sessions: readonly SessionInfo[]): Promise<void>
}

/** Another number whenever a summary is made in another way. */
const version = 3

/**
 * A log only ever grows, so what was said of one of the same length still holds. The file in the user's folder may be
 * deleted at any time; one that is damaged, or about another store, is passed over.
 */
export async function openSummaries(store: SessionStore, { home, env }: Pick<Io, 'home' | 'env'>): Promise<Summaries> {
  const path = join(home, 'session-list.json')
  const place = await store.identity?.().catch(() => undefined)
  const known = place === undefined ? new Map<string, Known>() : await readKnown(path, place)
  let hasChanged = false
  return {
    async of(info) {
      const before = known.get(info.id)
      if (before?.head === info.head && before.updatedAt === info.updatedAt) return before.summary
      const summary = await summarize(store, info, env)
      known.set(info.id, { head: info.head, updatedAt: info.updatedAt, summary })
      hasChanged = true
      return summary
    },
    async keep(sessions) {
      const ids = new Set(sessions.map(({ id }) => id))
      for (const id of known.keys()) if (!ids.has(id)) hasChanged = known.delete(id)
      if (place === undefined || !hasChanged) return
      // A list that cannot be kept is made again the next time.
      await writeFileAtomic(path, JSON.stringify({ version, place, known: [...known] })).catch(() => {})
    },
  }
}

interface Known {
  readonly head: number
  readonly updatedAt: number | undefined
  readonly summary: SessionSummary
}

async function readKnown(path: string, place: string): Promise<Map<string, Known>> {
  try {
    const file: unknown = JSON.parse((await readTextIfThere(path)) ?? 'null')
    if (!isRecord(file) || file.version !== version || file.place !== place || !Array.isArray(file.known))
      return new Map()
    return new Map(file.known.filter(isKnown))
  } catch {
    return new Map()
  }
}

function isKnown(pair: unknown): pair is [string, Known] {
  if (!Array.isArray(pair) || typeof pair[0] !== 'string' || !isRecord(pair[1])) return false
  const { head, summary } = pair[1]
  return (
    typeof head === 'number' &&
    isRecord(summary) &&
    summary.id === pair[0] &&
    typeof summary.title === 'string' &&
    Object.hasOwn(stateWords, String(summary.state)) &&
    typeof summary.prompts === 'number'
  )
}
