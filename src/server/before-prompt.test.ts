import { expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession } from '../index.ts'
import { call, scripted, tool } from '../testing/index.ts'
import { beforePrompt } from './before-prompt.ts'

test('SV54 the prompt of a reply is found from the end of a long log, by its key or as the last one', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 'long' })
  const asked = 120
  const agent = createAgent({ provider: scripted(...Array.from({ length: asked }, (_, i) => `Reply ${i}.`)), session })
  for (let i = 0; i < asked; i++) await agent.run({ prompt: `Prompt ${i}`, ...(i % 2 === 0 && { clientKey: `k${i}` }) })
  await agent.destroy()
  const entries = await store.read('long')
  expect(entries.length).toBeGreaterThan(400)
  const turnOf = (text: string) =>
    entries.find((entry) => entry.type === 'turn' && JSON.stringify(entry.turn).includes(`"${text}"`))!.seq
  for (const i of [0, 58, 118]) expect(await beforePrompt(store, 'long', `k${i}`)).toBe(turnOf(`Prompt ${i}`) - 1)
  expect(await beforePrompt(store, 'long', 'none')).toBeUndefined()
  // The last one has no key: its run begins with it.
  const last = (await beforePrompt(store, 'long'))!
  expect(entries[last]).toMatchObject({ type: 'run_started' })
  expect(last).toBeGreaterThan(turnOf(`Reply ${asked - 2}.`))
})

test('SV54 a message that steers a run begins no reply, however long the run is', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 'steered' })
  const calls = Array.from({ length: 90 }, (_, i) => [call(`c${i}`, 'look')])
  const agent = createAgent({
    provider: scripted(...calls, 'Done.'),
    session,
    tools: {
      look: tool('look', async (_, { callId }) => {
        if (callId === 'c2') await agent.steer('Faster')
        return 'seen'
      }),
    },
  })
  await agent.run({ prompt: 'Look around', clientKey: 'first' })
  await agent.destroy()
  const entries = await store.read('steered')
  expect(entries.some((entry) => entry.type === 'turn' && entry.consumed?.length === 1)).toBe(true)
  expect(entries.length).toBeGreaterThan(250)
  expect(await beforePrompt(store, 'steered')).toBe(await beforePrompt(store, 'steered', 'first'))
})
