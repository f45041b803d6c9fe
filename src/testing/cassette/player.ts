import { type Clock, createIds, systemClock } from '../../core/clock.ts'
import { ReplayError } from './differences.ts'
import type { Cassette } from './read-cassette.ts'
import { settled } from './recording.ts'
import type { TapeItem } from './tape-items.ts'

type Reading = Extract<TapeItem, { type: 'now' | 'id' | 'random' }>

interface Waiter {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Plays a tape. Readings (time, ids, random numbers) are given out in order. An item from outside is delivered when
 * everything before it on the tape has happened, so it comes between the same readings as in the recording.
 */
export class Player {
  readonly items: readonly TapeItem[]
  readonly clock: Clock
  readonly newId: () => string
  /** The tape has ended and the real clock, ids and tools are used. */
  isLive = false
  failure: ReplayError | undefined
  readonly #used: boolean[]
  readonly #readings = { now: new Queue(), id: new Queue(), random: new Queue() }
  readonly #waiting = new Map<number, Waiter>()
  readonly #goingLive: (() => void)[] = []
  readonly #stallTimeoutMs: number
  #cursor = 0
  #isDelivering = false
  #lastNow = 0
  #stallTimer: ReturnType<typeof setTimeout> | undefined

  constructor(
    { items }: Cassette,
    {
      clock = systemClock,
      newId = createIds(),
      stallTimeoutMs = 5_000,
    }: { readonly clock?: Clock; readonly newId?: () => string; readonly stallTimeoutMs?: number },
  ) {
    this.items = items
    this.clock = clock
    this.newId = newId
    this.#stallTimeoutMs = stallTimeoutMs
    this.#used = items.map(() => false)
    for (const [at, item] of items.entries()) if (isReading(item)) this.#readings[item.type].positions.push(at)
  }

  now(): number {
    if (this.isLive) return this.clock.now()
    if (this.failure) return this.#lastNow
    this.#lastNow = this.#read('now', 'the clock was read') as number
    return this.#lastNow
  }

  id(): string {
    if (this.isLive || this.failure) return this.newId()
    return this.#read('id', 'an id was made') as string
  }

  random(): number {
    return this.isLive || this.failure ? Math.random() : (this.#read('random', 'a random number was read') as number)
  }

  /** Marks an item as used. */
  use(position: number): void {
    this.#used[position] = true
    while (this.#used[this.#cursor]) this.#cursor++
    this.#startStallTimer()
    void this.#deliver()
  }

  isUsed(position: number): boolean {
    return this.#used[position] === true
  }

  /** Resolves when the item at this position may be delivered. */
  turn(position: number): Promise<void> {
    if (this.isLive) return settled()
    if (this.failure) return Promise.reject(this.failure)
    return new Promise((resolve, reject) => {
      this.#waiting.set(position, { resolve, reject })
      this.#startStallTimer()
      void this.#deliver()
    })
  }

  /** Ends the replay with its first difference. */
  fail(error: ReplayError): ReplayError {
    this.failure ??= error
    clearTimeout(this.#stallTimer)
    for (const { reject } of this.#waiting.values()) reject(this.failure)
    this.#waiting.clear()
    return this.failure
  }

  /** Leaves the tape: items that are still waiting are delivered in their order, then the real things are used. */
  goLive(): void {
    if (this.isLive) return
    this.isLive = true
    clearTimeout(this.#stallTimer)
    for (const [, { resolve }] of [...this.#waiting].sort(([a], [b]) => a - b)) resolve()
    this.#waiting.clear()
    for (const go of this.#goingLive.splice(0)) go()
  }

  whenLive(go: () => void): void {
    this.#goingLive.push(go)
  }

  /** The recorded items that were not used. */
  unused(): readonly TapeItem[] {
    return this.items.filter((_, position) => !this.#used[position])
  }

  #read(type: Reading['type'], what: string): number | string {
    const queue = this.#readings[type]
    const position = queue.positions[queue.next++]
    const item = position === undefined ? undefined : this.items[position]
    if (position === undefined || !item || !isReading(item))
      throw this.fail(
        new ReplayError(`The replay went further than the recording: ${what} more often than ${queue.next - 1} times`),
      )
    this.use(position)
    return item.value
  }

  async #deliver(): Promise<void> {
    if (this.#isDelivering) return
    this.#isDelivering = true
    while (this.#waiting.has(this.#cursor)) {
      await settled()
      const position = this.#cursor
      const waiter = this.#waiting.get(position)
      if (!waiter) continue
      this.#waiting.delete(position)
      this.#used[position] = true
      while (this.#used[this.#cursor]) this.#cursor++
      waiter.resolve()
    }
    this.#isDelivering = false
    this.#startStallTimer()
  }

  /** Fails the replay if the next item is not used in time. Uses real time, because time on the tape stands still. */
  #startStallTimer(): void {
    clearTimeout(this.#stallTimer)
    if (this.isLive || this.failure || this.#waiting.size === 0 || this.#waiting.has(this.#cursor)) return
    this.#stallTimer = setTimeout(() => {
      const missed = this.items[this.#cursor]
      this.fail(
        new ReplayError(
          `The replay stands still: in the recording ${missed ? describeItem(missed) : 'more'} came next`,
        ),
      )
    }, this.#stallTimeoutMs)
  }
}

class Queue {
  readonly positions: number[] = []
  next = 0
}

const isReading = (item: TapeItem): item is Reading =>
  item.type === 'now' || item.type === 'id' || item.type === 'random'

/** An item in words, for error messages. */
export function describeItem(item: TapeItem): string {
  switch (item.type) {
    case 'now':
      return 'a reading of the clock'
    case 'id':
      return `the id "${item.value}"`
    case 'random':
      return 'a random number'
    case 'timer':
      return `timer ${item.n} of ${item.ms} ms`
    case 'fired':
      return `the end of timer ${item.n}`
    case 'request':
      return `model request ${item.n}`
    case 'event':
      return `an event of the reply to model request ${item.n}`
    case 'failed':
      return `the failure of model request ${item.n}`
    case 'ended':
      return `the end of the reply to model request ${item.n}`
    case 'execute':
      return `the call ${item.callId} of tool "${item.tool}"`
    case 'step':
      return `a step (${item.did}) of tool call ${item.n}`
    case 'result':
      return `the result of tool call ${item.n}`
  }
}
