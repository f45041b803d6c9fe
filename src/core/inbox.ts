import type { EntryBody, EntryOf, Log } from './log.ts'
import { type Meta, sharedMeta } from './meta.ts'
import type { Run } from './run.ts'
import type { Session } from './store.ts'
import { type SessionContentBlock, type SessionTurn, textOf } from './turn.ts'

type InboxMessage = EntryOf<'input'>

/** Messages that wait for a safe moment. They are log entries: an accepted one survives a crash. */
export class Inbox {
  readonly #log: Log
  readonly #session: Session | undefined

  constructor(log: Log, session: Session | undefined) {
    this.#log = log
    this.#session = session
  }

  /** Resolves once the message cannot be lost any more. The same `clientKey` again changes nothing. */
  async post(
    mode: 'steer' | 'followUp',
    content: readonly SessionContentBlock[],
    { clientKey, meta }: { readonly clientKey: string; readonly meta?: Meta | undefined },
  ): Promise<void> {
    const item = { mode, clientKey, content, ...(meta && { meta }) }
    await (this.#session ? this.#session.send(item) : this.#log.admit(item))
  }

  /** Calls `listener` when somebody, here or elsewhere, wants the run to stop. Returns how to take it back. */
  onStopRequest(listener: () => void): () => void {
    return this.#log.subscribe((entry) => {
      if (entry.type === 'input' && entry.mode === 'stop') listener()
    })
  }

  get hasSteering(): boolean {
    const waiting = this.#log.transcript.inbox
    return (waiting.length > 0 && waiting.some((letter) => letter.mode === 'steer')) || this.#log.isAdmitting('steer')
  }

  /** What was said into an earlier run, which ended before it could deliver it. */
  fromEarlierRuns(): readonly InboxMessage[] {
    const { inbox, runs } = this.#log.transcript
    if (inbox.length === 0) return inbox
    const endSeq = runs.at(-1)?.endSeq ?? 0
    return inbox.filter(({ mode, seq }) => seq < endSeq && (mode === 'steer' || mode === 'followUp'))
  }

  /** All steering, and the oldest prompt that was left for the session while no run was under way. */
  waitingAtStart(): readonly InboxMessage[] {
    const waiting = this.#log.transcript.inbox
    const prompt = waiting.find((letter) => letter.mode === 'prompt')
    return waiting.filter((letter) => letter === prompt || letter.mode === 'steer')
  }

  /** All steering, or else, when the model is done, the oldest follow-up. */
  next(isDone: boolean): readonly InboxMessage[] {
    const waiting = this.#log.transcript.inbox
    if (waiting.length === 0) return waiting
    const steering = waiting.filter((letter) => letter.mode === 'steer')
    if (steering.length > 0 || !isDone) return steering
    return waiting.filter((letter) => letter.mode === 'followUp' || letter.mode === 'prompt').slice(0, 1)
  }
}

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
