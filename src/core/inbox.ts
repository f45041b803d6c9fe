import type { EntryBody, EntryOf, Log } from './log.ts'
import { type Meta, sharedMeta } from './meta.ts'
import type { Run } from './run.ts'
import type { Session } from './store.ts'
import { type SessionContentBlock, type SessionTurn, textOf } from './turn.ts'
import type { MaybePromise } from './waiting.ts'

type InboxMessage = EntryOf<'input'>

/** The inbox of the log: accepted messages that wait to be delivered. They are log entries, so they survive a crash. */
export class Inbox {
  readonly #log: Log
  readonly #session: Session | undefined

  constructor(log: Log, session: Session | undefined) {
    this.#log = log
    this.#session = session
  }

  /** Resolves once the message is durable. A second message with the same `clientKey` is ignored. */
  async post(
    mode: 'steer' | 'followUp',
    content: readonly SessionContentBlock[],
    { clientKey, meta }: { readonly clientKey: string; readonly meta?: Meta | undefined },
  ): Promise<void> {
    const item = { mode, clientKey, content, ...(meta && { meta }) }
    await (this.#session ? this.#session.send(item) : this.#log.accept(item))
  }

  /** Calls `listener` on a stop request, from this process or another one. Returns a function that removes it. */
  onStopRequest(listener: () => void): () => void {
    return this.#log.subscribe((entry) => {
      if (entry.type === 'input' && entry.mode === 'stop') listener()
    })
  }

  get hasSteering(): boolean {
    const waiting = this.#log.deliverable
    return (
      (waiting.length > 0 && waiting.some((message) => message.mode === 'steer')) || this.#log.isWritingMessage('steer')
    )
  }

  /** Filters out messages that were withdrawn after the caller read them. */
  stillWaiting(messages: readonly InboxMessage[]): readonly InboxMessage[] {
    const waiting = this.#log.deliverable
    return messages.filter((message) => waiting.includes(message))
  }

  /** Messages that earlier runs accepted and did not deliver. */
  fromEarlierRuns(): readonly InboxMessage[] {
    const waiting = this.#log.deliverable
    if (waiting.length === 0) return waiting
    const endSeq = this.#log.transcript.runs.at(-1)?.endSeq ?? 0
    return waiting.filter(({ mode, seq }) => seq < endSeq && (mode === 'steer' || mode === 'followUp'))
  }

  /** All steering, and the oldest prompt that was sent to the session while no run was under way. */
  waitingAtStart(): readonly InboxMessage[] {
    const waiting = this.#log.deliverable
    const prompt = waiting.find((message) => message.mode === 'prompt')
    return waiting.filter((message) => message === prompt || message.mode === 'steer')
  }

  /**
   * The messages to deliver after a step: all steering or, if there is no steering and the model is done, the oldest follow-up or
   * prompt. They stay in the inbox.
   */
  nextAfterStep({ isModelDone }: { readonly isModelDone: boolean }): readonly InboxMessage[] {
    const waiting = this.#log.deliverable
    if (waiting.length === 0) return waiting
    const steering = waiting.filter((message) => message.mode === 'steer')
    if (steering.length > 0 || !isModelDone) return steering
    return waiting.filter((message) => message.mode === 'followUp' || message.mode === 'prompt').slice(0, 1)
  }
}

export function userTurn(run: Run, content: readonly SessionContentBlock[], meta: Meta | undefined): SessionTurn {
  return { id: run.newId(), runId: run.id, role: 'user', content, createdAt: run.clock.now(), ...(meta && { meta }) }
}

/** The turn that delivers messages, with notes of extensions. The same entry takes the messages out of the inbox. */
export function deliveryEntry(
  run: Run,
  messages: readonly InboxMessage[],
  notes: readonly string[] = [],
): Extract<EntryBody, { type: 'turn' }> {
  const contents = messages.flatMap(({ content }): readonly SessionContentBlock[] => content)
  const added = notes.map((text): SessionContentBlock => ({ type: 'text', text }))
  const turn = userTurn(run, [...contents, ...added], sharedMeta(messages))
  const consumed = messages.map((message) => message.id)
  return { type: 'turn', turn, ...(consumed.length > 0 && { consumed }) }
}

/**
 * Delivers messages of the inbox and notes of extensions, as one turn. Precondition: no `await` between reading the messages
 * and calling this; otherwise a withdrawn message could be delivered.
 */
export async function deliverInbox(
  run: Run,
  messages: readonly InboxMessage[],
  notes?: readonly string[],
): Promise<void> {
  const delivery = deliveryEntry(run, messages, notes)
  await run.log.append(delivery)
  await fireSessionTurns(run, delivery.turn)
  await fireSteerInject(run, messages)
}

/** Fires `steer:inject` once per delivered message. Call it after `session:turns` was fired for their turn. */
export async function fireSteerInject(run: Run, messages: readonly InboxMessage[]): Promise<void> {
  for (const { mode, content, meta } of messages) {
    const message = textOf({ role: 'user', content })
    const as = mode === 'steer' ? mode : 'followUp'
    await run.hooks.tell('steer:inject', { message, mode: as, ...(meta && { meta }) })
  }
}

/** Fires `session:turns` with turns that the log has now. */
export function fireSessionTurns(run: Run, ...turns: readonly SessionTurn[]): MaybePromise<void> {
  if (run.hooks.has('session:turns')) return run.hooks.tell('session:turns', { turns, runId: run.id })
}
