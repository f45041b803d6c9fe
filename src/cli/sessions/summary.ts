import type { LogEntry } from '../../core/log.ts'
import type { SessionInfo, SessionStore } from '../../core/store.ts'
import { Transcript } from '../../core/transcript.ts'
import { withSpill } from '../../sessions/spill.ts'
import type { Io } from '../io.ts'
import { titleOf } from './title.ts'

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
export const noteOwner = 'cli'

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
  const cwd = cwdIn(transcript.states.get(noteOwner))
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
export function cwdIn(note: unknown): string | undefined {
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
