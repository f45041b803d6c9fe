import { describe, expect, test } from 'vitest'
import { sampleOf } from '../../test/soak.ts'
import { type StoreServer, socketFetch, storeServer } from '../../test/store-server.ts'
import type { Clock } from '../core/clock.ts'
import { storeContract } from '../testing/index.ts'
import { createMemoryStore } from './memory-store.ts'
import { createRemoteStore } from './remote-store.ts'
import { createStoreHandler } from './store-handler.ts'

const token = 'correct-horse-battery'

describe('a remote store over HTTP', () => {
  let server: StoreServer
  const connect = (clock: Clock) =>
    createRemoteStore({ url: `${server.url}/team/store/`, token, clock, fetch: socketFetch })

  const cases = storeContract(
    async (clock) => {
      const store = createMemoryStore({ clock })
      server = await storeServer(createStoreHandler({ store, token, clock, basePath: '/team/store' }))
      return connect(clock)
    },
    { again: connect },
  )
  // Stores on a disk run them all.
  for (const one of sampleOf(cases, 25)) test(one.name, one.run)

  test('there are cases', () => expect(cases.length).toBeGreaterThan(30))
})
