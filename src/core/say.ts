import { type Meta, sharedMeta } from './meta.ts'
import type { Run } from './run.ts'
import { type SessionContentBlock, type SessionTurn, textOf } from './turn.ts'

export type Letters = ReturnType<Run['inbox']['next']>

export function userTurn(run: Run, content: readonly SessionContentBlock[], meta: Meta | undefined): SessionTurn {
  return { id: run.newId(), runId: run.id, role: 'user', content, createdAt: run.clock.now(), ...(meta && { meta }) }
}

/** Adds a user turn. Leaving the inbox and entering the conversation is one append. */
async function say(run: Run, content: readonly SessionContentBlock[], letters: Letters): Promise<void> {
  const turn = userTurn(run, content, sharedMeta(letters))
  const consumed = letters.map((letter) => letter.id)
  await run.log.append({ type: 'turn', turn, ...(consumed.length > 0 && { consumed }) })
  await tellTurns(run, turn)
}

/** Takes messages out of the inbox, and what extensions add to them, as one turn. */
export async function hear(run: Run, letters: Letters, notes: readonly string[] = []): Promise<void> {
  const content = letters.flatMap((letter): readonly SessionContentBlock[] => letter.content)
  const added = notes.map((text): SessionContentBlock => ({ type: 'text', text }))
  await say(run, [...content, ...added], letters)
  for (const { mode, content, meta } of letters) {
    const message = textOf({ role: 'user', content })
    const told = { message, mode: mode === 'steer' ? 'steer' : 'followUp', ...(meta && { meta }) } as const
    await run.hooks.tell('steer:inject', told)
  }
}

export function tellTurns(run: Run, ...turns: readonly SessionTurn[]): Promise<void> | void {
  if (run.hooks.has('session:turns')) return run.hooks.tell('session:turns', { turns, runId: run.id })
}
