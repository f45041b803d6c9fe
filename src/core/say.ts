import type { Run } from './run.ts'
import type { SessionContentBlock, SessionTurn } from './turn.ts'

export function userTurn(run: Run, content: readonly SessionContentBlock[]): SessionTurn {
  return { id: run.newId(), runId: run.id, role: 'user', content, createdAt: run.clock.now() }
}

/** Adds a user turn. Leaving the inbox and entering the conversation is one append. */
export async function say(
  run: Run,
  content: readonly SessionContentBlock[],
  consumed: readonly string[],
): Promise<void> {
  const turn = userTurn(run, content)
  await run.log.append({ type: 'turn', turn, ...(consumed.length > 0 && { consumed }) })
  await tellTurns(run, turn)
}

export function tellTurns(run: Run, ...turns: readonly SessionTurn[]): Promise<void> | void {
  if (run.hooks.has('session:turns')) return run.hooks.tell('session:turns', { turns, runId: run.id })
}
