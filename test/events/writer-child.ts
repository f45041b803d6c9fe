import { followEvents } from '../../src/events/index.ts'
import { createAgent, openSession } from '../../src/index.ts'
import { offerLocalEvents } from '../../src/rpc/offer-local-events.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import { openStore, type StoreSpec } from './stores.ts'

/**
 * Goes on with a session that an earlier process left, if there is one; then writes a new one, in step with its reader, and
 * kills itself at its event number `killAt`, counting log entries and what is streamed.
 */
export interface WriterTask {
  readonly store: StoreSpec
  /** Where its socket is. */
  readonly offers: string
  readonly goOnWith?: string
  readonly write?: string
  readonly killAt?: number | undefined
}

const task: WriterTask = JSON.parse(process.argv[2] ?? '')
const store = await openStore(task.store)
const closeOffer = offerLocalEvents({ folder: task.offers })
const tools = {
  look: tool('look', (_, { progress }) => {
    for (const part of ['half', 'most']) progress(part)
    return 'water '.repeat(60_000) // too large for one row of some stores
  }),
}
const script = () => [
  { thinking: 'There may be water here.', text: 'I look.', calls: [0, 1].map(() => call(crypto.randomUUID(), 'look')) },
  'It is a lake, and it is deep, and there are fish in it. '.repeat(4),
]

if (task.goOnWith !== undefined) await work(task.goOnWith)
if (task.write !== undefined) await work(task.write, { killAt: task.killAt, isInStep: true })
await closeOffer()
await store.close?.()
process.disconnect()

async function work(
  id: string,
  { killAt, isInStep = false }: { killAt?: number | undefined; isInStep?: boolean } = {},
) {
  const session = await openSession(store, id)
  await session.save()
  if (isInStep) await reader('is there')
  const agent = createAgent({ provider: scripted(...script(), { options: { chunk: 3 } }), tools, session })
  let events = 0
  followEvents(agent, () => {
    if (++events === killAt) process.kill(process.pid, 'SIGKILL')
  })
  const steps = new Set<string>(isInStep ? ['has joined', 'has half of it'] : [])
  const wait = async (step: string): Promise<void> => {
    if (steps.delete(step)) await reader(step)
  }
  agent.hooks.hook('stream:start', () => wait('has joined'))
  agent.hooks.hook('stream:text', ({ text }) => (text.length > 99 ? wait('has half of it') : undefined))
  await agent.run({ prompt: 'What is there?' })
  await agent.destroy()
}

/** Waits until the process that reads says so. */
async function reader(what: string): Promise<void> {
  process.send?.(what)
  await new Promise((resolve) => process.once('message', resolve))
}
