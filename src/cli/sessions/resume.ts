import { loadSession } from '../../sessions/session.ts'
import type { Given } from '../command.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { findSession } from './find-session.ts'
import { requireId, withStore } from './users-store.ts'

interface Resuming {
  readonly values: { readonly fork?: boolean; readonly unpark?: boolean }
  readonly words: readonly string[]
}

/** `libero sessions resume`: a run that goes on with a session. */
export async function resume({ values, words }: Resuming, io: Io): Promise<number> {
  const asked = requireId(words, 'resume')
  const task = words.slice(1)
  const id = await withStore(io, async (store) => {
    const found = await findSession(store, asked)
    if (values.unpark) await (await loadSession(store, found)).unpark()
    return found
  })
  const { command } = await import('../commands/run.ts')
  const wishes: RunValues = { resume: id, ...(values.fork && { fork: true }) }
  return command.run!({ values: wishes as Given['values'], words: task }, io)
}
