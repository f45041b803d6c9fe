import { SessionNotFoundError } from '../../core/errors.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { pluralize } from '../../tui/rows/format.ts'
import { confirm, requireTerminal } from '../agents/confirm.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { deleteWhole } from './delete-whole.ts'
import { findSession } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'
import { isAgentId } from './session-id.ts'
import { titlesFor } from './session-title.ts'

/** `libero sessions delete`. Finds all ids and asks the person before it deletes the first one. */
export async function remove({ values, words }: SessionArgs<{ readonly yes?: boolean }>, io: Io): Promise<number> {
  requireSessionId(words, 'delete')
  if (!values.yes) requireTerminal(io, 'sessions delete asks before it deletes')
  return withStore(io, async (store) => {
    const sessions = await findSessions(store, words)
    if (!values.yes && !(await isConfirmed(sessions, io))) {
      io.err('Nothing was deleted')
      return exitCodes.done
    }
    const deleted = await deleteWhole(store, sessions, { io, which: 'named' })
    for (const { id } of deleted) io.err(`Deleted ${fullyVisible(id)}`)
    const [kept] = sessions.filter((session) => !deleted.includes(session))
    if (kept) throw new CliError(`Session ${fullyVisible(kept.id)} was kept: another program is using it`)
    return exitCodes.done
  })
}

async function findSessions(store: SessionStore, words: readonly string[]): Promise<SessionSummary[]> {
  const found = new Map<string, SessionSummary>()
  for (const word of words) {
    const id = await findSession(store, word)
    const name = fullyVisible(id)
    const session = await store.find(id)
    if (!session) throw new SessionNotFoundError(id)
    if (session.parent !== undefined)
      throw new CliError(`${name} is part of session ${fullyVisible(session.parent)}; delete that one`)
    if (isAgentId(id)) throw new CliError(`${name} is an agent; delete it with: libero agents delete ${name}`)
    if (session.isHeld)
      throw new CliError(`Session ${name} is being written by another program; stop that first. Nothing was deleted`)
    found.set(id, session)
  }
  return [...found.values()]
}

function isConfirmed(sessions: readonly SessionSummary[], io: Io): Promise<boolean> {
  const title = titlesFor(io.env)
  for (const session of sessions)
    io.err(`  ${fullyVisible(session.id)}  ${pluralize(session.turns, 'turn')}  ${title(session)}`)
  const asked = sessions.length === 1 ? 'this session' : `these ${sessions.length} sessions`
  return confirm(`Delete ${asked} for good?`, io)
}
