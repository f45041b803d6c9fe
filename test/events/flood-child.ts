import { setImmediate } from 'node:timers/promises'
import { readEvents } from '../../src/events/index.ts'
import { createAgent, openSession } from '../../src/index.ts'
import { joinLocalRuns, offerLocalEvents } from '../../src/rpc/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import { openStore, type StoreSpec } from './stores.ts'

/**
 * `write`: a run whose tool reports much progress, in two parts, each when it is told to. `read`: follows it, and tells what
 * it got.
 */
export interface FloodTask {
  readonly role: 'write' | 'read'
  readonly store: StoreSpec
  readonly offers: string
  /** How many reports of 10,000 characters in the second part. */
  readonly reports: number
}

/** What the writer used for all of the second part. */
export interface Flooded {
  readonly cpuMs: number
  readonly grownBytes: number
}

export interface Got {
  readonly streamed: number
  readonly lost: number
  readonly entries: readonly number[]
  /** The numbers that the writer gave to the first and to the last event that was streamed. */
  readonly firstNumber: number
  readonly lastNumber: number
}

const { role, store: spec, offers, reports }: FloodTask = JSON.parse(process.argv[2] ?? '')
const store = await openStore(spec)
if (role === 'write') await write()
else await read()
await store.close?.()
process.disconnect()

async function write(): Promise<void> {
  const close = offerLocalEvents({ folder: offers })
  const session = await openSession(store, 's')
  await session.save()
  const flood = tool('flood', async (_, { progress }) => {
    await told('is there')
    // Until a reader got one: its socket may take a while.
    const again = setInterval(() => progress('first'), 20)
    await told('has joined').finally(() => clearInterval(again))
    const before = { cpu: process.cpuUsage(), bytes: process.memoryUsage.rss() }
    let most = before.bytes
    for (let i = 0; i < reports; i++) {
      progress(`${i} ${'x'.repeat(10_000)}`)
      await setImmediate()
      if (i % 100 === 0) most = Math.max(most, process.memoryUsage.rss())
    }
    const { user, system } = process.cpuUsage(before.cpu)
    process.send?.({ cpuMs: (user + system) / 1000, grownBytes: most - before.bytes } satisfies Flooded)
    // Until the reader has one: what is lost after the last event that it gets has no number there.
    const last = setInterval(() => progress('last'), 20)
    await told('reads again').finally(() => clearInterval(last))
    return 'done'
  })
  const agent = createAgent({ provider: scripted([call('1', 'flood')], 'Done.'), tools: { flood }, session })
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  await close()
}

async function read(): Promise<void> {
  const got = { streamed: 0, lost: 0, entries: [] as number[], firstNumber: 0, lastNumber: 0 }
  let hasLast = false
  for await (const event of readEvents(store, 's', { join: joinLocalRuns({ folder: offers }) })) {
    if (event.durable) got.entries.push(event.seq)
    else if (event.type === 'gap') got.lost += event.lost
    else if (event.type !== 'snapshot' && event.type !== 'inbox') {
      got.streamed++
      got.lastNumber = event.n
    }
    if (!event.durable && event.type === 'tool_progress' && event.text === 'first' && got.streamed === 1) {
      got.firstNumber = event.n
      process.send?.('joined')
    }
    if (!event.durable && event.type === 'tool_progress' && event.text === 'last' && !hasLast) {
      hasLast = true
      process.send?.('has the last')
    }
    if (event.durable && event.entry.type === 'call_started') process.send?.('there')
    if (event.durable && event.entry.type === 'run_ended') break
  }
  process.send?.(got satisfies Got)
}

/** Waits until the process that started this one says so. */
async function told(step: string): Promise<void> {
  process.send?.(step)
  await new Promise((resolve) => process.once('message', resolve))
}
