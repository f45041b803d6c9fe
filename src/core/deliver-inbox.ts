import type { EntryBody } from './log.ts'
import { type Meta, sharedMeta } from './meta.ts'
import type { Run } from './run.ts'
import { type SessionContentBlock, type SessionTurn, textOf } from './turn.ts'

export type InboxMessages = ReturnType<Run['inbox']['next']>

export function userTurn(run: Run, content: readonly SessionContentBlock[], meta: Meta | undefined): SessionTurn {
  return { id: run.newId(), runId: run.id, role: 'user', content, createdAt: run.clock.now(), ...(meta && { meta }) }
}

/** The turn that delivers messages, with what extensions add. Leaving the inbox and entering the conversation is one entry. */
export function deliveryEntry(
  run: Run,
  letters: InboxMessages,
  notes: readonly string[] = [],
): Extract<EntryBody, { type: 'turn' }> {
  const said = letters.flatMap((letter): readonly SessionContentBlock[] => letter.content)
  const added = notes.map((text): SessionContentBlock => ({ type: 'text', text }))
  const turn = userTurn(run, [...said, ...added], sharedMeta(letters))
  const consumed = letters.map((letter) => letter.id)
  return { type: 'turn', turn, ...(consumed.length > 0 && { consumed }) }
}

/** Takes messages out of the inbox, and what extensions add to them, as one turn. */
export async function deliverInbox(run: Run, letters: InboxMessages, notes?: readonly string[]): Promise<void> {
  const delivery = deliveryEntry(run, letters, notes)
  await run.log.append(delivery)
  await tellTurns(run, delivery.turn)
  await tellDelivered(run, letters)
}

/** After the turn that delivers these messages was told. */
export async function tellDelivered(run: Run, letters: InboxMessages): Promise<void> {
  for (const { mode, content, meta } of letters) {
    const message = textOf({ role: 'user', content })
    const told = { message, mode: mode === 'steer' ? 'steer' : 'followUp', ...(meta && { meta }) } as const
    await run.hooks.tell('steer:inject', told)
  }
}

export function tellTurns(run: Run, ...turns: readonly SessionTurn[]): Promise<void> | void {
  if (run.hooks.has('session:turns')) return run.hooks.tell('session:turns', { turns, runId: run.id })
}
