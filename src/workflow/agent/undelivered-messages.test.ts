import { expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { createSession } from '../../sessions/session.ts'
import { SerialWriter } from './serial-writer.ts'
import { UndeliveredMessages } from './undelivered-messages.ts'

test('a message that was taken back is not recorded when the run that had accepted it is cancelled', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store })
  const writer = new SerialWriter(session, systemClock)
  const dependencies = { clock: systemClock, newId: () => crypto.randomUUID() }
  const undelivered = new UndeliveredMessages({ session, writer, dependencies })
  session.log.subscribe((entry) => undelivered.apply(entry))
  await writer.withLease(async () => {
    await session.log.append({ type: 'run_started', runId: 'r', model: '' })
    for (const text of ['Kept', 'Taken back'])
      await session.log.accept({ clientKey: text, mode: 'steer', content: [{ type: 'text', text }] })
    expect(await session.takeBack('Taken back')).toBe(true)
    const stoppedAt = session.log.head
    await session.log.append({ type: 'run_ended', runId: 'r', status: 'aborted', stop: 'aborted', stoppedAt })
  })
  await undelivered.recordCancelled()
  const turns = (await store.read(session.id)).flatMap((entry) => (entry.type === 'turn' ? [entry.turn.content] : []))
  expect(turns).toEqual([[{ type: 'text', text: 'Kept' }]])
})
