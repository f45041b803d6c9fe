import { expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import { createSession } from '../../sessions/session.ts'
import { withSession } from './run-outcome.ts'

test('R03 names the session to resume if something was written to it, and none otherwise', async () => {
  const session = await createSession()
  const ending = () => withSession({ model: 'm' }, { session }, fakeIo())
  expect(ending()).toEqual({ model: 'm' })
  await session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }])
  expect(ending()).toMatchObject({ sessionId: session.id })
})
