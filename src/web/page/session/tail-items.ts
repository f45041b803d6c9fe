import type { QueuedMessage } from '../libero.ts'
import type { SendingMessage } from '../model/session-model.ts'

/** A message at the end of the conversation that the model has not got yet. */
export type TailItem =
  | { readonly key: string; readonly queued: QueuedMessage }
  | { readonly key: string; readonly sending: SendingMessage }

export function tailOf(queue: readonly QueuedMessage[], sending: readonly SendingMessage[]): TailItem[] {
  return [
    ...queue.map((queued) => ({ key: `message:${queued.clientKey}`, queued })),
    ...sending.map((one) => ({ key: `message:${one.key}`, sending: one })),
  ]
}
