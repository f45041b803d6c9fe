import { fullyVisible } from '../../platform/visible-text.ts'
import { loadSession } from '../../sessions/session.ts'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { findSession } from './find-session.ts'
import { forkSession } from './open-session.ts'
import { requireId, withStore } from './users-store.ts'

interface Forking {
  readonly values: { readonly at?: string }
  readonly words: readonly string[]
}

/** `libero sessions fork`. */
export async function fork({ values, words }: Forking, io: Io): Promise<number> {
  const asked = requireId(words, 'fork')
  const at = values.at === undefined ? undefined : Number(values.at)
  const id = await withStore(io, async (store) => {
    const session = await loadSession(store, await findSession(store, asked))
    if (at !== undefined && at > session.log.head)
      throw new CliError(
        `Session ${fullyVisible(session.id)} has ${session.log.head} entries; --at cannot be ${at}`,
        exitCodes.usage,
      )
    return (await forkSession(session, io.cwd, at)).id
  })
  io.out(id)
  return exitCodes.done
}
