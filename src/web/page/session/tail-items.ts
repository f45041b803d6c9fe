import type { QueuedMessage } from '../libero.ts'
import type { OutboxMessage } from '../model/outbox.ts'

/** A message at the end of the conversation that the model has not got yet. */
export type TailItem =
  | { readonly key: string; readonly queued: QueuedMessage }
  | { readonly key: string; readonly sending: OutboxMessage }

export function tailOf(queue: readonly QueuedMessage[], sending: readonly OutboxMessage[]): TailItem[] {
  return [
    ...queue.map((queued) => ({ key: `message:${queued.clientKey}`, queued })),
    ...sending.map((one) => ({ key: `message:${one.key}`, sending: one })),
  ]
}
