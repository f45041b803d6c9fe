import type { InboxItem } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import type { FleetWork } from './fleet-work.ts'

/** A message for a later time. It is a session of its own, so that it survives the loss of all jobs. */
export interface DelayedSend {
  readonly sessionId: string
  readonly kind?: string
  readonly tenant?: string
  readonly item: InboxItem
  readonly at: number
}

const prefix = 'libero.later.'
const kind = 'libero.later'
const owner = 'fleet:later'
/** A look delivers at most so many; the next one goes on. */
const maxDue = 200

/** Stores a message for later. Resolves with the id of its session. */
export async function storeDelayed(store: SessionStore, send: DelayedSend): Promise<string> {
  const id = `${prefix}${paddedTime(send.at)}.${crypto.randomUUID()}`
  const session = await createSession({ store, id, kind })
  await session.setState(owner, send)
  return id
}

/** Delivers messages for a later time. The key of the message makes a second delivery harmless. */
export function delayedSends(deliver: (send: DelayedSend) => Promise<void>): FleetWork {
  async function deliverOne(store: SessionStore, id: string): Promise<void> {
    if (!(await store.find(id))) return // another worker was faster
    const send = (await loadSession(store, id)).log.transcript.states.get(owner) as DelayedSend | undefined
    if (send) await deliver(send)
    await store.delete(id)
  }
  return {
    kind,
    owns: (sessionId) => sessionId.startsWith(prefix),
    work: ({ sessionId }, { store }) => deliverOne(store, sessionId),
    async reconcile({ store, clock, onError }) {
      const { sessions } = await store.list({ prefix, order: 'id', limit: maxDue })
      const now = `${prefix}${paddedTime(clock.now())}`
      for (const { id } of sessions) {
        if (id > `${now}.~`) return // ids ascend with the time
        await deliverOne(store, id).catch((cause) => onError(notDelivered(id, cause)))
      }
    },
  }
}

const paddedTime = (at: number): string => String(Math.max(0, Math.ceil(at))).padStart(16, '0')

const notDelivered = (id: string, cause: unknown): Error =>
  new Error(`The delayed message "${id}" could not be delivered; the next look tries again`, { cause })
