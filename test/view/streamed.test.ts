import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventQueue, type StreamedEvent } from '../../src/events/event-queue.ts'
import { emptyView, foldEntries, foldEvent, type SessionView } from '../../src/view/session-view.ts'
import { RandomRun, shownRows } from './random-run.ts'

const choices = fc.array(fc.nat(2 ** 30), { maxLength: 120 })

test('SV08 a reader has what the run has, in whichever order the log and the stream reach it, and after losses and new connections', async () => {
  await fc.assert(
    fc.asyncProperty(choices, choices, async (steps, order) => {
      const run = new RandomRun()
      const reader = new Reader(run)
      for (const [i, step] of steps.entries()) {
        const { streamed, logged } = run.step(step)
        reader.onTheWay.push(...streamed)
        if (i % 2 === 0 && logged) reader.deliverEntries(order[i] ?? 0)
        await reader.go(order[i] ?? 0)
      }
      expect(shownRows(await reader.end())).toEqual(shownRows(expected(run)))
    }),
    { numRuns: 1000 },
  )
})

/** A fresh fold of the log, with a snapshot of the open reply. */
function expected(run: RandomRun): SessionView {
  const view = foldEntries(emptyView, run.log)
  const snapshot = run.snapshot()
  return snapshot ? foldEvent(view, snapshot) : view
}

/** Gets entries and what is streamed over two ways, of which either may be slower. */
class Reader {
  /** Streamed, and not received yet. */
  onTheWay: StreamedEvent[] = []
  view = emptyView
  readonly #run: RandomRun
  #queue!: EventQueue
  #emit!: (event: StreamedEvent) => void
  #reading: Promise<void> = Promise.resolve()

  constructor(run: RandomRun) {
    this.#run = run
    this.#connect()
  }

  /** One of the things that may happen between two steps of the run. */
  async go(choice: number): Promise<void> {
    const pick = choice >> 4
    if (choice % 16 < 5) this.#deliverStreamed(1 + (pick % 4))
    else if (choice % 16 < 9) this.deliverEntries(1 + (pick % 3))
    else if (choice % 16 === 9) await this.#reconnect()
    else if (choice % 16 === 10) this.#lose()
    else if (choice % 16 === 11) await tick()
  }

  deliverEntries(count: number): void {
    this.#queue.add(this.#run.log.slice(this.#queue.last, this.#queue.last + count))
  }

  async end(): Promise<SessionView> {
    this.deliverEntries(this.#run.log.length)
    this.#deliverStreamed(this.onTheWay.length)
    await tick()
    this.#queue.end()
    await this.#reading
    return this.view
  }

  #deliverStreamed(count: number): void {
    for (const event of this.onTheWay.splice(0, count)) this.#emit(event)
  }

  /** Some of what is on the way is lost, and told. */
  #lose(): void {
    const lost = this.onTheWay.length
    this.onTheWay = [{ durable: false, type: 'gap', after: this.#run.log.length, lost }]
    const snapshot = this.#run.snapshot()
    if (snapshot) this.onTheWay.push(snapshot)
  }

  async #reconnect(): Promise<void> {
    await tick()
    this.#queue.end()
    await this.#reading
    this.#connect()
  }

  #connect(): void {
    const queue = new EventQueue(this.view.head, () => {})
    queue.join((emit) => {
      this.#emit = emit
      return { snapshot: () => {}, leave: () => {} }
    })
    this.#queue = queue
    const snapshot = this.#run.snapshot()
    this.onTheWay = snapshot ? [snapshot] : []
    this.#reading = (async () => {
      for (let event = await queue.next(); event; event = await queue.next()) this.view = foldEvent(this.view, event)
    })()
  }
}

/** Lets the reader read what it has. */
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
