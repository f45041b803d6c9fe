import { createAgent, createMemoryStore, createSession, loadSession } from 'libero'
import { call, scripted, tool } from 'libero/testing'
import { spawn } from 'libero/tools'
import type { LogEntry } from 'libero/types'
import { expect, test } from 'vitest'

/** A session whose child waits for an answer, one level down or two. */
async function withWaitingChild(depth: number) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const wait = tool('wait', (_, ctx) => ctx.suspend('a question'), { replay: 'keyed' })
  const spawns = Array.from({ length: depth }, (_, i) => [call(`spawn${i}`, 'spawn', { task: 'go' })])
  const tools = { spawn, wait }
  await createAgent({ provider: scripted(...spawns, [call('w', 'wait')]), session, tools }).run({ prompt: 'Go.' })
  return { store, session, tools }
}

function resultsOf(entries: readonly LogEntry[]): string[] {
  return entries.flatMap((entry) => (entry.type === 'call_result' ? [`${entry.callId} ${entry.outcome}`] : []))
}

test('a child whose call is skipped leaves no call without a result, nor does its own child', async () => {
  const { store, tools } = await withWaitingChild(2)
  const session = await loadSession(store, 's')
  expect(resultsOf(await store.read('s/spawn0/spawn1'))).toEqual([])

  await createAgent({ provider: scripted('Fine.'), session, tools }).run({ prompt: 'Never mind.' })
  expect(resultsOf(await store.read('s/spawn0/spawn1'))).toEqual(['w aborted'])
  expect(resultsOf(await store.read('s/spawn0'))).toEqual(['spawn1 aborted'])
  expect(resultsOf(await store.read('s'))).toEqual(['spawn0 skipped'])
})

test('so it is when turns are added, when steering comes first, and when a gate says no', async () => {
  const added = await withWaitingChild(1)
  await added.session.addTurns([{ role: 'user', content: [{ type: 'text', text: 'Never mind.' }] }])
  expect(resultsOf(await added.store.read('s/spawn0'))).toEqual(['w aborted'])

  const steered = await withWaitingChild(1)
  const { session, tools } = steered
  const agent = createAgent({ provider: scripted('Fine.'), session, tools })
  await agent.steer('Never mind.')
  await agent.run()
  expect(resultsOf(await steered.store.read('s/spawn0'))).toEqual(['w aborted'])

  const blocked = await withWaitingChild(1)
  await createAgent({
    provider: scripted('Fine.'),
    session: blocked.session,
    tools: blocked.tools,
    hooks: {
      'tool:gate': (gate) => {
        gate.block = true
      },
    },
  }).run()
  expect(resultsOf(await blocked.store.read('s/spawn0'))).toEqual(['w aborted'])
})
