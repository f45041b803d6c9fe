import { show } from '../core/behavior.ts'
import { SessionNotFoundError } from '../core/errors.ts'
import type { InboxItem } from '../core/log.ts'
import type { Session, SessionStore } from '../core/store.ts'
import { createSession, loadSession } from '../sessions/session.ts'
import type { FleetWork, FleetWorkContext } from './fleet-work.ts'

/** A message for a later time. It is a session of its own, so that it survives the loss of all jobs. */
export interface DelayedSend {
  readonly sessionId: string
  readonly kind?: string
  readonly tenant?: string
  readonly item: InboxItem
  readonly at: number
}

/** A message that its session cannot get: there is none and no kind for one, or it has another kind or tenant. */
export class UndeliverableError extends TypeError {}

const prefix = 'libero.later.'
const kind = 'libero.later'
const owner = 'fleet:later'
/** A session without its message is one that a sender is just making: it is written in two steps. */
const makingMs = 60_000
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
  async function deliverOne(
    { store, clock, onError }: Pick<FleetWorkContext, 'store' | 'clock' | 'onError'>,
    id: string,
  ): Promise<void> {
    const session = await loadIfThere(store, id)
    if (!session) return // another worker was faster
    const send = session.log.transcript.states.get(owner) as DelayedSend | undefined
    if (send)
      await deliver(send).catch((cause) => {
        if (!(cause instanceof UndeliverableError)) throw cause
        // No later try can help, and other messages would wait behind it.
        onError(new Error(`A message for later to session ${show(send.sessionId)} is dropped`, { cause }))
      })
    else if (clock.now() - ((await store.find(id))?.createdAt ?? 0) < makingMs) return
    await store.delete(id)
  }
  return {
    kind,
    owns: (sessionId) => sessionId.startsWith(prefix),
    work: ({ sessionId }, context) => deliverOne(context, sessionId),
    async reconcile(context) {
      const { store, clock, onError, signal } = context
      const { sessions } = await store.list({ prefix, order: 'id', limit: maxDue })
      const now = `${prefix}${paddedTime(clock.now())}`
      for (const { id } of sessions) {
        if (id > `${now}.~` || signal.aborted) return // ids ascend with the time
        await deliverOne(context, id).catch((cause) => onError(notDelivered(id, cause)))
      }
    },
  }
}

async function loadIfThere(store: SessionStore, id: string): Promise<Session | undefined> {
  try {
    return await loadSession(store, id)
  } catch (error) {
    if (error instanceof SessionNotFoundError) return undefined
    throw error
  }
}

const paddedTime = (at: number): string => String(Math.max(0, Math.ceil(at))).padStart(16, '0')

const notDelivered = (id: string, cause: unknown): Error =>
  new Error(`The delayed message "${id}" could not be delivered; the next look tries again`, { cause })
