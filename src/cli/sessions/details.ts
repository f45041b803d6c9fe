import { SessionBusyError, SessionParkedError } from '../../core/errors.ts'
import type { Session } from '../../core/store.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { loadSession } from '../../sessions/session.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { findSession } from './find-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'

/** `libero sessions rename`. */
export async function rename({ words }: SessionArgs<object>, io: Io): Promise<number> {
  const idOrPrefix = requireSessionId(words, 'rename')
  const title = words.slice(1).join(' ').trim()
  if (title === '') throw new UsageError('sessions rename needs the new title: libero sessions rename <id> "title"')
  return withStore(io, async (store) => {
    const id = await findSession(store, idOrPrefix)
    await setDetails(await loadSession(store, id), { title })
    io.err(`${fullyVisible(id)} is now called "${fullyVisible(title)}"`)
    return exitCodes.done
  })
}

/** `libero sessions tag`: adds tags, or removes them; without tags it prints those there are. */
export async function tag({ values, words }: SessionArgs<{ readonly remove?: boolean }>, io: Io): Promise<number> {
  const idOrPrefix = requireSessionId(words, 'tag')
  const named = words.slice(1)
  if (named.includes('')) throw new UsageError('a tag cannot be empty')
  if (values.remove && named.length === 0) throw new UsageError('name the tags to remove')
  return withStore(io, async (store) => {
    const id = await findSession(store, idOrPrefix)
    const before = (await store.find(id))?.tags ?? []
    const added = [...new Set([...before, ...named])]
    const tags = values.remove ? before.filter((one) => !named.includes(one)) : added
    if (named.length > 0) await setDetails(await loadSession(store, id), { tags })
    for (const one of tags) io.out(fullyVisible(one))
    return exitCodes.done
  })
}

async function setDetails(session: Session, details: Parameters<Session['setDetails']>[0]): Promise<void> {
  const id = fullyVisible(session.id)
  try {
    await session.setDetails(details)
  } catch (error) {
    if (error instanceof SessionBusyError)
      throw new CliError(`Session ${id} is being written by another program; try again when that is done`, undefined, {
        cause: error,
      })
    if (error instanceof SessionParkedError)
      throw new CliError(
        `Session ${id} is parked and cannot be changed; libero sessions resume ${id} --unpark allows it again`,
        undefined,
        { cause: error },
      )
    throw error instanceof TypeError ? new UsageError(error.message, { cause: error }) : error
  }
}
