import { join } from 'node:path'
import { isRecord } from '../../core/is-record.ts'
import type { LogEntry } from '../../core/log.ts'
import type { SessionSummary as SessionInfo, SessionStore } from '../../core/store.ts'
import { oneLine } from '../../core/text.ts'
import { Transcript } from '../../core/transcript.ts'
import { textOf } from '../../core/turn.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Io } from '../io.ts'
import { cutToWidth } from '../screen/text-width.ts'
import { recordedFolder } from './session-folder.ts'
import { type SessionState, stateLabels, stateOf } from './session-state.ts'

/** One row of the list of sessions. */
export interface SessionSummary {
  readonly id: string
  readonly createdAt?: number
  readonly updatedAt?: number
  /** The number of user messages. */
  readonly prompts: number
  readonly title: string
  /** Where it was begun, if by the command line. */
  readonly cwd?: string
  readonly state: SessionState
}

/** Reads the whole session. Secrets from `env` are removed from the title. */
export async function summarize(store: SessionStore, info: SessionInfo, env: Io['env'] = {}): Promise<SessionSummary> {
  return summaryOf(info, await store.read(info.id), env)
}

export function summaryOf(
  { id, createdAt, updatedAt }: SessionInfo,
  entries: readonly LogEntry[],
  env: Io['env'] = {},
): SessionSummary {
  const transcript = new Transcript()
  for (const entry of entries) transcript.apply(entry)
  const cwd = recordedFolder(transcript)
  return {
    id,
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    prompts: transcript.turns.filter(({ role, content }) => role === 'user' && content.some(isPrompt)).length,
    title: titleOf(entries, env),
    ...(cwd !== undefined && { cwd }),
    state: stateOf(transcript),
  }
}

const isPrompt = ({ type }: { readonly type: string }): boolean => type !== 'tool_result'

/** The first prompt on one line, with control characters visible and secrets removed. */
export function titleOf(entries: readonly LogEntry[], env: Io['env'] = {}): string {
  for (const entry of entries) {
    if (entry.type !== 'turn' || entry.turn.role !== 'user' || !Array.isArray(entry.turn.content)) continue
    const text = textOf(entry.turn).slice(0, 2000).trim()
    if (text !== '') return visibleLine(createRedactor({ env }).text(text), titleColumns)
  }
  return ''
}

const titleColumns = 60

/** A text on one line of at most `columns`, with control characters visible. */
export function visibleLine(text: string, columns: number): string {
  return cutToWidth(fullyVisible(oneLine(text)), columns)
}

/** To be increased when a summary is computed differently. */
const version = 3

/**
 * Caches summaries in a file of the user's folder. A log only grows, so a summary is valid while the length is the
 * same. The file may be deleted at any time; a damaged one, or one of another store, is ignored.
 */
export async function openSummaryCache(store: SessionStore, { home, env }: Pick<Io, 'home' | 'env'>) {
  const path = join(home, 'session-list.json')
  const storeId = await store.identity?.().catch(() => undefined)
  const cached = storeId === undefined ? new Map<string, CachedSummary>() : await readCache(path, storeId)
  let hasChanged = false
  return {
    async of(info: SessionInfo): Promise<SessionSummary> {
      const before = cached.get(info.id)
      if (before?.head === info.head && before.updatedAt === info.updatedAt) return before.summary
      const summary = await summarize(store, info, env)
      cached.set(info.id, { head: info.head, updatedAt: info.updatedAt, summary })
      hasChanged = true
      return summary
    },
    /** Writes the summaries of these sessions to the cache file and drops all others. */
    async save(sessions: readonly SessionInfo[]): Promise<void> {
      const ids = new Set(sessions.map(({ id }) => id))
      for (const id of cached.keys()) if (!ids.has(id)) hasChanged = cached.delete(id)
      if (storeId === undefined || !hasChanged) return
      // A cache that cannot be written is computed again the next time.
      await writeFileAtomic(path, JSON.stringify({ version, place: storeId, known: [...cached] })).catch(() => {})
    },
  }
}

interface CachedSummary {
  readonly head: number
  readonly updatedAt: number | undefined
  readonly summary: SessionSummary
}

async function readCache(path: string, storeId: string): Promise<Map<string, CachedSummary>> {
  try {
    const file: unknown = JSON.parse((await readTextIfThere(path)) ?? 'null')
    if (!isRecord(file) || file.version !== version || file.place !== storeId || !Array.isArray(file.known))
      return new Map()
    return new Map(file.known.filter(isCached))
  } catch {
    return new Map()
  }
}

function isCached(pair: unknown): pair is [string, CachedSummary] {
  if (!Array.isArray(pair) || typeof pair[0] !== 'string' || !isRecord(pair[1])) return false
  const { head, summary } = pair[1]
  return (
    typeof head === 'number' &&
    isRecord(summary) &&
    summary.id === pair[0] &&
    typeof summary.title === 'string' &&
    Object.hasOwn(stateLabels, String(summary.state)) &&
    typeof summary.prompts === 'number'
  )
}
