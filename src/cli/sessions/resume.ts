import { fullyVisible } from '../../platform/visible-text.ts'
import { loadSession } from '../../sessions/session.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { ParsedArgs } from '../command.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { findSession } from './find-session.ts'
import { forkSession } from './open-session.ts'
import { requireSessionId, type SessionArgs, withStore } from './open-store.ts'

/** `libero sessions resume`: runs `libero run` in the session. */
export async function resume(
  { values, words }: SessionArgs<{ readonly fork?: boolean; readonly unpark?: boolean }>,
  io: Io,
): Promise<number> {
  const idOrPrefix = requireSessionId(words, 'resume')
  const id = await withStore(io, async (store) => {
    const found = await findSession(store, idOrPrefix)
    if (values.unpark) await (await loadSession(store, found)).unpark()
    return found
  })
  const { command } = await import('../commands/run.ts')
  const runValues: RunValues = { resume: id, ...(values.fork && { fork: true }) }
  return command.run!({ values: runValues as ParsedArgs['values'], words: words.slice(1) }, io)
}

/** `libero sessions fork`. */
export async function fork({ values, words }: SessionArgs<{ readonly at?: string }>, io: Io): Promise<number> {
  const idOrPrefix = requireSessionId(words, 'fork')
  const at = values.at === undefined ? undefined : Number(values.at)
  const id = await withStore(io, async (store) => {
    const session = await loadSession(store, await findSession(store, idOrPrefix))
    if (at !== undefined && at > session.log.head)
      throw new CliError(
        `Session ${fullyVisible(session.id)} has ${session.log.head} entries; --at cannot be ${at}`,
        exitCodes.usage,
      )
    return (await forkSession(store, session, { cwd: io.cwd, at })).id
  })
  io.out(id)
  return exitCodes.done
}
