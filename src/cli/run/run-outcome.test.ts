import { expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import { createSession } from '../../sessions/session.ts'
import { withSession } from './run-outcome.ts'

test('R03 how to go on is said of a session that was written, and not of one that could not be', async () => {
  const session = await createSession()
  const ending = () => withSession({ model: 'm' }, { session }, fakeIo())
  expect(ending()).toEqual({ model: 'm' })
  await session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }])
  expect(ending()).toMatchObject({ sessionId: session.id })
})
