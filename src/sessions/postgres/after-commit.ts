import type { PostgresTransaction } from './driver.ts'

/** The callbacks of each transaction that a store has begun. */
const callbacksOf = new WeakMap<PostgresTransaction, (() => void)[]>()

/** Collects the `afterCommit` callbacks of this transaction. Call the returned function after the commit to run them. */
export function trackCommit(transaction: PostgresTransaction): () => void {
  const callbacks: (() => void)[] = []
  callbacksOf.set(transaction, callbacks)
  return () => {
    for (const callback of callbacks) callback()
  }
}

/** Calls back after the commit. Returns false if the store did not begin the transaction, and so does not learn of its commit. */
export function afterCommit(transaction: PostgresTransaction, callback: () => void): boolean {
  const callbacks = callbacksOf.get(transaction)
  callbacks?.push(callback)
  return callbacks !== undefined
}
