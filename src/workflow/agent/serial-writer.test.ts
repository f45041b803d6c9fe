import { expect, test } from 'vitest'
import { SessionBusyError } from '../../core/errors.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { createSession, loadSession } from '../../sessions/session.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { SerialWriter } from './serial-writer.ts'

async function setUp() {
  const clock = fakeClock()
  const store = createMemoryStore({ clock })
  const session = await createSession({ store, id: 's', clock })
  await session.save()
  const other = await loadSession(store, 's', { clock })
  await other.open()
  return { clock, store, other, writer: new SerialWriter(session, clock) }
}

const label = { type: 'label', text: 'noted' } as const

test('an append waits a moment for another process that is appending', async () => {
  const { clock, store, other, writer } = await setUp()
  const noting = writer.append(label)
  await clock.advance(500)
  await other.release()
  await clock.advance(100)
  await noting
  expect((await store.read('s')).at(-1)).toMatchObject(label)
})

test('an append does not wait for a process that is running the agent', async () => {
  const { clock, store, writer } = await setUp()
  const noting = expect(writer.append(label)).rejects.toThrow(SessionBusyError)
  await clock.advance(3000)
  await noting
  expect(await store.read('s')).toHaveLength(1)
})
