import { join } from 'node:path'
import { isRecord } from '../../core/is-record.ts'
import type { LogEntry } from '../../core/log.ts'
import type { SessionInfo, SessionStore } from '../../core/store.ts'
import { Transcript } from '../../core/transcript.ts'
import { textOf } from '../../core/turn.ts'
import { readTextIfThere, writeFileAtomic } from '../../platform/files.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { withSpill } from '../../sessions/spill.ts'
import type { Io } from '../io.ts'
import { cutToWidth } from '../screen/text-width.ts'
import { stateLabels } from './session-state.ts'

/** What a list says of a session. */
export interface SessionSummary {
  readonly id: string
  readonly createdAt?: number
  readonly updatedAt?: number
  /** How often somebody spoke. */
  readonly prompts: number
  readonly title: string
  /** Where it was begun, if by the command line. */
  readonly cwd?: string
  readonly state: SessionState
}

/**
 * `open` has a run that never ended: it is `running` elsewhere, or its process died. What is `waiting` may have been
 * `answered` since. Which of both it is, its log does not say; `liveState` finds out.
 */
export type SessionState =
  | 'empty'
  | 'done'
  | 'waiting'
  | 'answered'
  | 'open'
  | 'running'
  | 'interrupted'
  | 'limited'
  | 'failed'
  | 'parked'

/** Who writes the note of where a session was begun. */
export const cliStateOwner = 'cli'

/** Reads a session, which may be long. The secrets among the variables are no part of its title. */
export async function summarize(store: SessionStore, info: SessionInfo, env: Io['env'] = {}): Promise<SessionSummary> {
  return summaryOf(info, await withSpill(store).read(info.id), env)
}

export function summaryOf(
  { id, createdAt, updatedAt }: SessionInfo,
  entries: readonly LogEntry[],
  env: Io['env'] = {},
): SessionSummary {
  const transcript = new Transcript()
  for (const entry of entries) transcript.apply(entry)
  const cwd = recordedFolder(transcript.states.get(cliStateOwner))
  return {
    id,
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    prompts: transcript.turns.filter(({ role, content }) => role === 'user' && content.some(isSpoken)).length,
    title: titleOf(entries, env),
    ...(cwd !== undefined && { cwd }),
    state: stateOf(transcript),
  }
}

/** What a note says about where a session was begun. */
export function recordedFolder(note: unknown): string | undefined {
  const cwd = typeof note === 'object' && note !== null && 'cwd' in note ? note.cwd : undefined
  return typeof cwd === 'string' ? cwd : undefined
}

const isSpoken = ({ type }: { readonly type: string }): boolean => type !== 'tool_result'

function stateOf(transcript: Transcript): SessionState {
  if (transcript.parked !== undefined) return 'parked'
  if (transcript.activeRun) return 'open'
  const last = transcript.runs.at(-1)
  if (!last && transcript.turns.length === 0) return 'empty'
  if (last?.status === 'suspended') return 'waiting'
  if (last?.status === 'aborted' || last?.stop === 'crashed') return 'interrupted'
  if (last?.stop === 'max_turns' || last?.stop === 'budget') return 'limited'
  return last?.status === 'error' ? 'failed' : 'done'
}

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
    Object.hasOwn(stateLabels, String(summary.state)) &&
    typeof summary.prompts === 'number'
  )
}

const mostColumns = 60

/** What a session is called: the first thing somebody said in it, on one line, with nothing hidden and no secrets in it, those of the variables included. */
export function titleOf(entries: readonly LogEntry[], env: Io['env'] = {}): string {
  for (const entry of entries) {
    if (entry.type !== 'turn' || entry.turn.role !== 'user' || !Array.isArray(entry.turn.content)) continue
    const text = textOf(entry.turn).slice(0, 2000).trim()
    if (text !== '') return oneLine(createRedactor({ env }).text(text), mostColumns)
  }
  return ''
}

/** A text on one line of at most so many columns, with nothing hidden; what was cut off is an ellipsis. */
export function oneLine(text: string, columns: number): string {
  return cutToWidth(fullyVisible(text.replace(/\s+/g, ' ').trim()), columns)
}
