import { expect, test } from 'vitest'
import { call, scripted } from '../../src/testing/index.ts'
import { startServer } from './server-kit.ts'

test('a session is made with a message, answered, read and followed by number', async () => {
  const { call: send, errors } = await startServer({ provider: () => scripted('Noon.', 'Still noon.') })
  const made = await send('POST', '/v1/sessions', { id: 'clock', tags: ['time'], message: 'What time is it?' })
  expect([made.status, made.body.id, made.body.tags]).toEqual([201, 'clock', ['time']])
  const again = await send(
    'POST',
    '/v1/sessions/clock/messages',
    { content: 'And now?' },
    { prefer: 'wait=20', 'idempotency-key': 'k2' },
  )
  expect([again.status, again.body.run]).toEqual([
    200,
    { status: 'completed', stop: 'end', text: expect.stringMatching(/noon\.$/i) },
  ])
  const shown = await send('GET', '/v1/sessions/clock')
  expect(shown.body).toMatchObject({ id: 'clock', status: 'idle', pending: [] })
  expect(shown.headers.get('etag')).toBe(`"${shown.body.head}"`)
  const page = await send('GET', '/v1/sessions/clock/events?after=2', undefined, { accept: 'application/json' })
  expect(page.body.events[0].seq).toBe(3)
  expect(page.body.head).toBe(shown.body.head)
  expect(errors).toEqual([])
})
