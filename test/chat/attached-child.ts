import { createAgent, createSession, createSqliteStore } from '../../src/index.ts'
import { offerLocalEvents } from '../../src/rpc/offer-local-events.ts'
import { call, scripted, texts, tool } from '../../src/testing/index.ts'

/** A process that runs the session `shared`: it waits in a call until the test tells it to go on, then until it is stopped. */
const [path, offers] = process.argv.slice(2) as [string, string]
const store = createSqliteStore({ path })
const closeOffer = offerLocalEvents({ folder: offers })
const session = await createSession({ store, id: 'shared' })
await session.setDetails({ folder: '/srv/shop' })
const provider = scripted(
  async () => {
    process.send?.('asked')
    await told()
    return { text: 'I begin with a long and careful look.', calls: [call('1', 'wait')] }
  },
  ({ messages }) => ({ text: `I read: ${texts(messages).at(-1)}`, calls: [call('2', 'wait')] }),
)
const tools = {
  wait: tool('wait', async (_, { signal }) => {
    process.send?.('waiting')
    await Promise.race([told(), new Promise((resolve) => signal.addEventListener('abort', resolve))])
    return 'waited'
  }),
}
const agent = createAgent({ provider, tools, session })
await agent.run({ prompt: 'Look.' }).catch(() => {})
await agent.destroy()
await closeOffer()
await store.close?.()
process.disconnect()

function told(): Promise<unknown> {
  return new Promise((resolve) => process.once('message', resolve))
}
