import { Problem, retryAfter } from './problem.ts'

/** How much a tenant or a user may have of this server. */
export interface ServerLimits {
  /** Bytes of a request. Default 24 MB. */
  readonly bodyBytes: number
  /** Event streams per tenant. Default 100; 10,000 on a server for one user. */
  readonly streams: number
  /** Runs under way per tenant; further ones wait for their turn, and further messages to workflow agents are refused. Default 20. */
  readonly runs: number
  /** Runs that may wait for their turn, per tenant. Default 200. */
  readonly waitingRuns: number
  /** Messages per minute and user. Default 60; 600 on a server for one user. */
  readonly messagesPerMinute: number
}

export function limitsOf(given: Partial<ServerLimits> = {}, isForOneUser: boolean): ServerLimits {
  const limits: ServerLimits = {
    bodyBytes: 24 * 1024 * 1024,
    streams: isForOneUser ? 10_000 : 100,
    runs: 20,
    waitingRuns: 200,
    messagesPerMinute: isForOneUser ? 600 : 60,
    ...given,
  }
  for (const [name, value] of Object.entries(limits))
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`createServer: limits.${name} must be a whole number from 1 on, got ${String(value)}`)
  return limits
}

/** Counts messages, streams and agents at work by the name of a tenant or user. */
export class RateLimits {
  readonly #limits: ServerLimits
  readonly #now: () => number
  readonly #streams = new Map<string, number>()
  /** The agents at work of each tenant, and how many messages each works on. */
  readonly #working = new Map<string, Map<string, number>>()
  /** The times of the messages of the last minute. */
  readonly #messages = new Map<string, number[]>()

  constructor(limits: ServerLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  /** Throws if the user has sent too many messages in the last minute. */
  countMessage(user: string): void {
    const recent = this.checkMessage(user)
    recent.push(this.#now())
    if (this.#messages.size > 10_000) this.#messages.clear() // most are users of long ago; at worst a user may send more once
    this.#messages.set(user, recent)
  }

  /** Throws as `countMessage` would. Gives the times of the messages of the last minute. */
  checkMessage(user: string): number[] {
    const now = this.#now()
    const most = this.#limits.messagesPerMinute
    const recent = (this.#messages.get(user) ?? []).filter((at) => at > now - 60_000)
    if (recent.length >= most) {
      const seconds = Math.ceil((recent[0]! + 60_000 - now) / 1000)
      throw new Problem(429, 'too_many_messages', `You may send ${most} messages a minute; wait ${seconds} s`, {
        headers: {
          ...retryAfter(seconds).headers,
          ratelimit: `"messages";r=0;t=${seconds}`,
          'ratelimit-policy': `"messages";q=${most};w=60`,
        },
      })
    }
    return recent
  }

  /** Counts a stream until the returned function is called. Throws if the tenant has too many. */
  openStream(tenant: string): () => void {
    const open = this.#streams.get(tenant) ?? 0
    if (open >= this.#limits.streams)
      throw new Problem(
        429,
        'too_many_streams',
        `You may have ${this.#limits.streams} streams open; close one`,
        retryAfter(5),
      )
    this.#streams.set(tenant, open + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      const left = (this.#streams.get(tenant) ?? 1) - 1
      if (left > 0) this.#streams.set(tenant, left)
      else this.#streams.delete(tenant)
    }
  }

  /** Throws if an agent of the tenant cannot begin to work, as so many do. */
  checkWork(tenant: string, agentId = ''): Map<string, number> {
    const { runs } = this.#limits
    const working = this.#working.get(tenant) ?? new Map<string, number>()
    if (working.size >= runs && !working.has(agentId))
      throw new Problem(
        429,
        'too_many_runs',
        `${runs} of your agents are at work; send this when one is done`,
        retryAfter(10),
      )
    return working
  }

  /** Counts the work of an agent on a message until the returned function is called. Throws as `checkWork` does. */
  beginWork(tenant: string, agentId: string): () => void {
    const working = this.checkWork(tenant, agentId)
    this.#working.set(tenant, working)
    working.set(agentId, (working.get(agentId) ?? 0) + 1)
    return () => {
      const left = working.get(agentId)! - 1
      if (left > 0) working.set(agentId, left)
      else working.delete(agentId)
      if (working.size === 0) this.#working.delete(tenant)
    }
  }

  get streams(): number {
    let sum = 0
    for (const count of this.#streams.values()) sum += count
    return sum
  }
}
