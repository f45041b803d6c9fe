import type { InboxItem } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { within } from '../core/waiting.ts'
import type { PostgresTransaction } from '../sessions/postgres/driver.ts'
import { isUnreachable, noAnswerError } from '../sessions/postgres/failure.ts'
import { groupCalls } from '../sessions/postgres/group-calls.ts'
import type { PostgresStore } from '../sessions/postgres-store.ts'
import type { Dispatcher, WakeOptions } from './dispatcher.ts'

interface Sent {
  readonly id: string
  readonly item: InboxItem
  readonly wake: WakeOptions
}

const maxTogether = 50
/** A queue that gives no answer for so long counts as away. */
const maxQueueMs = 20_000

/** A group does not wait long for a session whose job is locked by a transaction of others: then each message is sent alone. */
const limitWaitingIn = async (transaction: PostgresTransaction): Promise<void> =>
  void (await transaction.unsafe(`set local lock_timeout = '1s'`))

/**
 * Stores a message and wakes its session: in Postgres in one transaction, which messages that are sent at the same time share.
 * Elsewhere, if the process ends in between, the reconciler finds the session.
 */
export function sendAndWake(
  store: SessionStore,
  dispatcher: Dispatcher,
  /** Tells that a session was not woken for a message that is stored. */
  report: (id: string, cause: unknown) => void,
): (sent: Sent) => Promise<void> {
  if (!isPostgres(store))
    return async ({ id, item, wake }) => {
      await store.send(id, item)
      const failure = await failureOf(dispatcher.wake(id, wake))
      if (failure) report(id, failure)
    }

  const together = async (all: readonly Sent[]): Promise<void[]> => {
    const kinds = new Set(all.map(({ wake }) => wake.kind))
    // The queue may have a server of its own, which is away.
    const outage = await failureOf(Promise.all([...kinds].map((kind) => dispatcher.start?.(kind))))
    if (outage && !isUnreachable(outage)) throw outage
    const ordered = all.toSorted(inOrderOfJobs)
    await store.transaction(async (transaction) => {
      // At the same time, so that each is one statement. Nothing may be under way when the transaction ends.
      await allSettled([
        ...(all.length > 1 ? [limitWaitingIn(transaction)] : []),
        ...ordered.map(({ id, item }) => store.send(id, item, { transaction })),
      ])
      if (outage) return
      const onFailure = (id: string) => (cause: unknown) => report(id, cause)
      await allSettled(
        ordered.map(({ id, wake }) => dispatcher.wake(id, { ...wake, transaction, onFailure: onFailure(id) })),
      )
    })
    for (const { id } of outage ? all : []) report(id, outage)
    return all.map(() => undefined)
  }
  return groupCalls({
    together,
    alone: async (one) => void (await together([one])),
    isFailureOfAll: isUnreachable,
    maxSize: maxTogether,
  })
}

/** Why the queue did not do something, if it did not. */
export const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  within(
    maxQueueMs,
    work.then(() => undefined),
    () => new Error('The queue gave no answer', { cause: noAnswerError(maxQueueMs) }),
  ).catch((error: unknown) => error)

/** In the same order in all processes, so that their groups do not wait for each other. */
function inOrderOfJobs(a: Sent, b: Sent): number {
  const [first, second] = [a, b].map(({ id, wake }) => `${wake.kind} ${id}`) as [string, string]
  if (first === second) return 0
  return first < second ? -1 : 1
}

async function allSettled<Result>(work: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

/** A store whose `send` and a wake can be one transaction. */
function isPostgres(store: SessionStore): store is PostgresStore {
  return 'transaction' in store
}
