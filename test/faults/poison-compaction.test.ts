import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HookContexts } from '../../src/core/hook-map.ts'
import { createAgent, loadSession } from '../../src/index.ts'
import { tool } from '../../src/testing/index.ts'
import { sampleOf } from '../soak.ts'
import { type StrictServer, startStrict } from '../strict/strict-server.ts'
import { counterparts } from './poisons/counterparts.ts'
import { poisons } from './poisons/index.ts'
import { storeWith, text } from './poisons/kit.ts'

describe.each(sampleOf(counterparts, 3))('B1 $name', (to) => {
  let server: StrictServer
  beforeAll(async () => {
    server = await startStrict(to.dialect())
  })
  afterAll(() => server.close())

  test.each(sampleOf(poisons, 20))('sums up a log that holds $name', async (poison) => {
    const later = { role: 'user', content: [text('Later.')] } as const
    const store = await storeWith([...poison.turns(to), later])
    const before = await store.read('s')
    const failed: unknown[] = []
    const summaries: HookContexts['compaction:after'][] = []
    const agent = createAgent({
      provider: to.provider({ baseURL: server.url }),
      session: await loadSession(store, 's'),
      tools: { look: tool('look', () => 'seen') },
      behavior: { compactStrategy: 'summary', compactThreshold: 1, compactKeepTurns: 0 },
      hooks: {
        'hook:error': ({ error }) => void failed.push(error),
        'compaction:after': (ctx) => void summaries.push(ctx),
      },
    })
    expect((await agent.run({ prompt: 'Go on.' })).text).toBe('ok')
    expect((await agent.run({ prompt: 'And on.' })).text).toBe('ok')
    expect(failed).toEqual([])
    expect(summaries.length).toBeGreaterThan(0)
    expect(JSON.stringify((await store.read('s')).slice(0, before.length))).toBe(JSON.stringify(before))
  })
})
