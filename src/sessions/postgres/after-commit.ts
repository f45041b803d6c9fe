import type { PostgresTransaction } from './driver.ts'

/** What is to be done when a transaction of a store has committed. */
const waiting = new WeakMap<PostgresTransaction, (() => void)[]>()

/** Makes it possible to wait for the commit of this transaction. Returns a function to be called after it. */
export function announceCommit(transaction: PostgresTransaction): () => void {
  const callbacks: (() => void)[] = []
  waiting.set(transaction, callbacks)
  return () => {
    for (const callback of callbacks) callback()
  }
}

/** Calls back after the commit. False if the commit cannot be known: the transaction was begun elsewhere. */
export function afterCommit(transaction: PostgresTransaction, callback: () => void): boolean {
  const callbacks = waiting.get(transaction)
  callbacks?.push(callback)
  return callbacks !== undefined
}
