import type { Log } from '../core/log.ts'

/** Takes back a message that no turn has delivered. False if there is none, or a turn that delivers it is being written. */
export async function withdraw(log: Log, clientKey: string): Promise<boolean> {
  const message = log.deliverable.find((one) => one.clientKey === clientKey)
  if (!message) return false
  const { id } = message
  // From here on no turn takes it. A turn that has it stands in line already, and is written before.
  log.withdrawing.add(id)
  let isDelivered = false
  const unsubscribe = log.subscribe((entry) => {
    if (entry.type === 'turn' && entry.consumed?.includes(id)) isDelivered = true
  })
  try {
    await log.append({ type: 'withdrawn', input: id })
    return !isDelivered
  } finally {
    unsubscribe()
    log.withdrawing.delete(id)
  }
}
