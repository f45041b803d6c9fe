import { createInterface } from 'node:readline/promises'
import { SessionNotFoundError } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { allSessions } from '../../sessions/session-query.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { pluralize } from '../screen/format.ts'
import { findSession } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'
import { isBeingWritten } from './session-state.ts'
import { openSummaryCache, type SessionSummary, summarize } from './summary.ts'

/** `libero sessions delete`. Finds all ids and asks the person before it deletes the first one. */
export async function remove({ values, words }: SessionArgs<{ readonly yes?: boolean }>, io: Io): Promise<number> {
  requireSessionId(words, 'delete')
  const canAsk = io.stdin.isTTY === true && io.stderr.isTTY === true
  if (!values.yes && !canAsk)
    throw new UsageError('sessions delete asks before it deletes, and there is no terminal to ask on; add --yes')
  return withStore(io, async (store) => {
    const sessions = await findSessions(store, words, io.env)
    if (!values.yes && !(await confirmDeletion(sessions, io))) {
      io.err('Nothing was deleted')
      return exitCodes.done
    }
    for (const { id } of sessions) {
      await store.delete(id)
      io.err(`Deleted ${fullyVisible(id)}`)
    }
    // The cached titles are deleted too.
    await (await openSummaryCache(store, io)).save(await allSessions(store))
    return exitCodes.done
  })
}

async function findSessions(store: SessionStore, words: readonly string[], env: Io['env']): Promise<SessionSummary[]> {
  const all = new Map((await allSessions(store)).map((info) => [info.id, info]))
  const found = new Map<string, SessionSummary>()
  for (const word of words) {
    const id = await findSession(store, word)
    const info = all.get(id) ?? (await store.find(id))
    if (!info) throw new SessionNotFoundError(id)
    if (info.parent !== undefined)
      throw new CliError(`${fullyVisible(id)} is part of session ${fullyVisible(info.parent)}; delete that one`)
    if (await isBeingWritten(store, id))
      throw new CliError(
        `Session ${fullyVisible(id)} is being written by another program; stop that first. Nothing was deleted`,
      )
    // A damaged session can be deleted too.
    found.set(
      id,
      await summarize(store, info, env).catch(() => ({
        id,
        prompts: 0,
        title: '(cannot be read)',
        state: 'failed' as const,
      })),
    )
  }
  return [...found.values()]
}

async function confirmDeletion(sessions: readonly SessionSummary[], { stdin, stderr, err }: Io): Promise<boolean> {
  for (const { id, prompts, title } of sessions) err(`  ${fullyVisible(id)}  ${pluralize(prompts, 'prompt')}  ${title}`)
  const reader = createInterface({ input: stdin, output: stderr })
  try {
    const asked = sessions.length === 1 ? 'this session' : `these ${sessions.length} sessions`
    return /^y(?:es)?$/i.test((await reader.question(`Delete ${asked} for good? [y/N] `)).trim())
  } finally {
    reader.close()
  }
}
