/** Resolvers of those that wait, in the order of arrival. */
type Queue = (() => void)[]

const queues = new WeakMap<object, Map<string, Queue>>()

/** Runs work that shares an owner and a key one after the other, in the order of arrival. Cancelled work leaves the queue. */
export async function runSerially<T>(
  owner: object,
  key: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const byKey = queues.get(owner) ?? new Map<string, Queue>()
  queues.set(owner, byKey)
  const queue = byKey.get(key) ?? []
  if (byKey.has(key)) await waitForTurn(queue, signal)
  else byKey.set(key, queue)
  try {
    return await work()
  } finally {
    const next = queue.shift()
    if (next) next()
    else byKey.delete(key)
  }
}

/** Waits in a queue until its entry is taken out and called. Rejects when the signal aborts. */
export function waitForTurn(queue: Queue, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      signal.removeEventListener('abort', giveUp)
      resolve()
    }
    const giveUp = (): void => {
      queue.splice(queue.indexOf(enter), 1)
      reject(signal.reason)
    }
    queue.push(enter)
    signal.addEventListener('abort', giveUp, { once: true })
  })
}

/** Lets everything else that is due run, timers included; throws if the signal has aborted by then. */
export async function yieldToEventLoop(signal: AbortSignal): Promise<void> {
  // The first `setImmediate` may run before the timers that are due; the second runs after them.
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve))
  signal.throwIfAborted()
}
