import { echo, freeProvider, type Shape } from '../../bench/floor.ts'
import { type AgentOptions, createAgent, createMemoryStore, loadSession } from '../../src/index.ts'
import { emptyView, foldEntries, foldEvent } from '../../src/view/session-view.ts'
import { writeLongSession } from '../long-session.ts'
import { countBlocks } from './count-blocks.ts'

/** Runs shapes in a process of its own and prints how much work the engine did for each. */
const blocks = countBlocks()

async function workOf(shape: Shape, hooks: AgentOptions['hooks'] = {}): Promise<number> {
  const agent = createAgent({ provider: freeProvider(shape), tools: { echo }, hooks })
  blocks.read()
  await agent.run({ prompt: 'go' })
  return blocks.read()
}

/** Work for one more unit, between two sizes: what does not grow with the size falls out. */
async function perUnit(small: Shape, large: Shape, units: number, hooks?: AgentOptions['hooks']): Promise<number> {
  return ((await workOf(large, hooks)) - (await workOf(small, hooks))) / units
}

const one = { turns: 1, deltas: 0, calls: 0 }
const heard = { 'stream:text': () => {} }
const two = { turns: 2, deltas: 0, calls: 0 }

async function sessionWork(): Promise<Record<'opening' | 'turnInSession', [number, number]>> {
  await sessionOf(200) // everything is loaded
  const [short, long] = [await sessionOf(200), await sessionOf(20_000)]
  return { opening: [short.opening, long.opening], turnInSession: [short.turn, long.turn] }
}

async function perTurnOf(turns: number): Promise<{ early: number; late: number }> {
  const readings = new Map<number, number>()
  const agent = createAgent({ provider: freeProvider({ turns, deltas: 5, calls: 1 }), tools: { echo } })
  agent.hooks.hook('turn:after', ({ turn }) => {
    readings.set(turn, blocks.read())
  })
  await agent.run({ prompt: 'go' })
  return { early: readings.get(50)!, late: readings.get(turns - 1)! }
}

/** Opening a session whose conversation was compacted, and one more turn in it. */
async function sessionOf(turns: number): Promise<{ opening: number; turn: number }> {
  const store = createMemoryStore()
  await writeLongSession(store, 's', { turns })
  blocks.read()
  const session = await loadSession(store, 's')
  const opening = blocks.read()
  const agent = createAgent({ provider: freeProvider({ turns: 2, deltas: 5, calls: 1 }), tools: { echo }, session })
  await agent.run({ prompt: 'go' })
  return { opening, turn: blocks.read() }
}

/** Deltas in the view of a session, with the search for the row that each has changed. */
async function viewOf(turns: number): Promise<number> {
  const store = createMemoryStore()
  await writeLongSession(store, 's', { turns })
  let view = foldEntries(emptyView, await store.read('s'))
  blocks.read()
  for (let n = 1; n <= 1000; n++) {
    const { rows } = view
    const delta = { type: 'text', turnId: 'streams', attempt: 1, delta: 'word ' } as const
    view = foldEvent(view, { durable: false, after: view.head, n, ...delta })
    view.rows.changesSince(rows)
  }
  return blocks.read()
}

await viewOf(10)
await workOf({ turns: 3, deltas: 3, calls: 3 }) // everything is loaded and compiled now
console.log(
  JSON.stringify({
    delta: [
      await perUnit(one, { ...one, deltas: 2000 }, 2000),
      await perUnit({ ...one, deltas: 2000 }, { ...one, deltas: 20_000 }, 18_000),
    ],
    heardDelta: [
      await perUnit(one, { ...one, deltas: 2000 }, 2000, heard),
      await perUnit({ ...one, deltas: 2000 }, { ...one, deltas: 20_000 }, 18_000, heard),
    ],
    call: [
      await perUnit({ ...two, calls: 1 }, { ...two, calls: 5 }, 4),
      await perUnit({ ...two, calls: 5 }, { ...two, calls: 50 }, 45),
    ],
    turn: Object.values(await perTurnOf(800)),
    viewDelta: [await viewOf(10), await viewOf(10_000)],
    ...(await sessionWork()),
  }),
)
blocks.stop()
