import { type Clock, createIds, systemClock } from '../../core/clock.ts'
import type { Cassette } from './read-cassette.ts'
import { ReplayError } from './replay-error.ts'
import type { TapeItem } from './tape-items.ts'
import { breath } from './turns.ts'

type Reading = Extract<TapeItem, { type: 'now' | 'id' | 'random' }>

export interface PlayerOptions {
  /** Time and ids for what goes on after the tape. */
  readonly clock?: Clock
  readonly newId?: () => string
  /** How long to wait for something that the recording had at this place. Default 5 s of real time. */
  readonly patienceMs?: number
}

interface Waiter {
  readonly come: () => void
  readonly fail: (error: unknown) => void
}

/**
 * A tape that is played. Readings are given out in order; what comes from outside is let in when everything before it
 * on the tape has happened, and so falls between the same readings as it did then.
 */
export class Player {
  readonly items: readonly TapeItem[]
  readonly clock: Clock
  readonly newId: () => string
  /** The tape is over and the real things go on. */
  isLive = false
  failure: ReplayError | undefined
  readonly #used: boolean[]
  readonly #readings = { now: new Queue(), id: new Queue(), random: new Queue() }
  readonly #waiting = new Map<number, Waiter>()
  readonly #goingLive: (() => void)[] = []
  readonly #patienceMs: number
  #cursor = 0
  #isPumping = false
  #lastNow = 0
  #stalled: ReturnType<typeof setTimeout> | undefined

  constructor({ items }: Cassette, { clock = systemClock, newId = createIds(), patienceMs = 5_000 }: PlayerOptions) {
    this.items = items
    this.clock = clock
    this.newId = newId
    this.#patienceMs = patienceMs
    this.#used = items.map(() => false)
    for (const [at, item] of items.entries()) if (isReading(item)) this.#readings[item.type].places.push(at)
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
    return this.isLive || this.failure ? Math.random() : (this.#read('random', 'chance was asked') as number)
  }

  /** Something on the tape has happened. */
  use(place: number): void {
    this.#used[place] = true
    while (this.#used[this.#cursor]) this.#cursor++
    this.#watch()
    void this.#pump()
  }

  isUsed(place: number): boolean {
    return this.#used[place] === true
  }

  /** Resolves when what was recorded at this place may come in. */
  turn(place: number): Promise<void> {
    if (this.isLive) return breath()
    if (this.failure) return Promise.reject(this.failure)
    return new Promise((come, fail) => {
      this.#waiting.set(place, { come, fail })
      this.#watch()
      void this.#pump()
    })
  }

  /** The first difference counts; nothing goes on after it. */
  fail(error: ReplayError): ReplayError {
    this.failure ??= error
    clearTimeout(this.#stalled)
    for (const { fail } of this.#waiting.values()) fail(this.failure)
    this.#waiting.clear()
    return this.failure
  }

  /** From here on the real things: what is still on its way from the tape arrives, in its order. */
  goLive(): void {
    if (this.isLive) return
    this.isLive = true
    clearTimeout(this.#stalled)
    for (const [, { come }] of [...this.#waiting].sort(([a], [b]) => a - b)) come()
    this.#waiting.clear()
    for (const go of this.#goingLive.splice(0)) go()
  }

  whenLive(go: () => void): void {
    this.#goingLive.push(go)
  }

  /** Everything that was recorded and did not happen. */
  unused(): readonly TapeItem[] {
    return this.items.filter((_, place) => !this.#used[place])
  }

  #read(type: Reading['type'], what: string): number | string {
    const queue = this.#readings[type]
    const place = queue.places[queue.next++]
    const item = place === undefined ? undefined : this.items[place]
    if (place === undefined || !item || !isReading(item))
      throw this.fail(
        new ReplayError(`The replay went further than the recording: ${what} more often than ${queue.next - 1} times`),
      )
    this.use(place)
    return item.value
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return
    this.#isPumping = true
    while (this.#waiting.has(this.#cursor)) {
      await breath()
      const place = this.#cursor
      const waiter = this.#waiting.get(place)
      if (!waiter) continue
      this.#waiting.delete(place)
      this.#used[place] = true
      while (this.#used[this.#cursor]) this.#cursor++
      waiter.come()
    }
    this.#isPumping = false
    this.#watch()
  }

  /** Something waits for what does not happen: in real time, since time on the tape stands still. */
  #watch(): void {
    clearTimeout(this.#stalled)
    if (this.isLive || this.failure || this.#waiting.size === 0 || this.#waiting.has(this.#cursor)) return
    this.#stalled = setTimeout(() => {
      const missed = this.items[this.#cursor]
      this.fail(
        new ReplayError(`The replay stands still: in the recording ${missed ? told(missed) : 'more'} came next`),
      )
    }, this.#patienceMs)
  }
}

class Queue {
  readonly places: number[] = []
  next = 0
}

const isReading = (item: TapeItem): item is Reading =>
  item.type === 'now' || item.type === 'id' || item.type === 'random'

/** An item in words. */
export function told(item: TapeItem): string {
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
