import { expect, test } from 'vitest'
import { fleetKit } from './fleet-kit.ts'

test('FL01 a message makes a session of its kind and tenant, and a worker answers it', async () => {
  const { fleet, store, said, answered } = fleetKit({ steps: ['Hello.'] })
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Hi' })
  expect(await store.find('s')).toMatchObject({ kind: 'coder', tenant: 'acme', attention: 'mail' })
  fleet.work()
  await answered('s')
  expect(await said('s')).toEqual(['user: Hi', 'assistant: Hello.'])
})
