const queues = new WeakMap<object, Map<string, Waiting>>()

/** Those who wait for their turn, in the order of arrival. */
type Waiting = (() => void)[]

/** Runs pieces of work that share an owner and a key one after the other. A cancelled one leaves the queue. */
export async function inTurn<T>(owner: object, key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const lines = queues.get(owner) ?? new Map<string, Waiting>()
  queues.set(owner, lines)
  const line = lines.get(key) ?? []
  if (lines.has(key)) await turn(line, signal)
  else lines.set(key, line)
  try {
    return await work()
  } finally {
    const next = line.shift()
    if (next) next()
    else lines.delete(key)
  }
}

function turn(line: Waiting, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      signal.removeEventListener('abort', giveUp)
      resolve()
    }
    const giveUp = (): void => {
      line.splice(line.indexOf(enter), 1)
      reject(signal.reason)
    }
    line.push(enter)
    signal.addEventListener('abort', giveUp, { once: true })
  })
}
