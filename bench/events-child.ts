import { createSession } from '../src/sessions/session.ts'
import { openStore } from '../test/events/stores.ts'

/** Writes entries, each with the time at which it is durable, at intervals that are no multiple of any poll. */
const [spec = '', id = '', count = ''] = process.argv.slice(2)
const store = await openStore(JSON.parse(spec))
const session = await createSession({ store, id })
await session.open()
await session.log.append({ type: 'label', text: 'first' })
process.send?.('ready')
await new Promise((resolve) => process.once('message', resolve))
for (let i = 0; i < Number(count); i++) {
  await new Promise((resolve) => setTimeout(resolve, 20 + ((i * 37) % 101)))
  await session.log.append({ type: 'label', text: `${i}` })
  process.send?.(performance.timeOrigin + performance.now())
}
await session.release()
await store.close?.()
process.disconnect()
