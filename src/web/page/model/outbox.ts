import type { RemoteContent } from '../libero.ts'

/** A message that the log does not have yet: it survives a reload, and its key makes a second try harmless. */
export interface OutboxMessage {
  readonly key: string
  readonly content: RemoteContent
  readonly mode?: 'steer' | 'followUp'
  /** Why it could not be sent: from then on it waits for the person. */
  readonly problem?: string
  /** The server has it. Its log gets it when the run goes on, such as after an answer. */
  readonly isAccepted?: true
}

export interface Outbox {
  all(): readonly OutboxMessage[]
  add(message: OutboxMessage): void
  remove(key: string): void
}

/** Kept by the browser. A message that is too large for that is kept by the page alone. */
export function createOutbox(session: string, storage: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>): Outbox {
  const name = `libero-outbox:${session}`
  const all = (): readonly OutboxMessage[] => {
    try {
      return JSON.parse(storage.getItem(name) ?? '[]') as readonly OutboxMessage[]
    } catch {
      return []
    }
  }
  const save = (messages: readonly OutboxMessage[]): void => {
    try {
      if (messages.length === 0) storage.removeItem(name)
      else storage.setItem(name, JSON.stringify(messages))
    } catch {
      // there is no room for it
    }
  }
  return {
    all,
    add: (message) => save([...all().filter(({ key }) => key !== message.key), message]),
    remove: (key) => save(all().filter((one) => one.key !== key)),
  }
}
