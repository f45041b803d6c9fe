import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { call, fakeClock, memoryExecution, scripted, tool } from '../../src/testing/index.ts'
import type { Provider } from '../../src/types.ts'

/** Calls `echo` in every turn but the last, and grows nothing itself. */
function tireless(turns: number, onTurn?: (turn: number) => void): Provider {
  let turn = 0
  return {
    meta: { name: 'tireless', defaultModel: 'm' },
    async *stream() {
      turn++
      onTurn?.(turn)
      const usage = { input: 1, output: 1 }
      if (turn >= turns) yield { type: 'reply', content: [{ type: 'text', text: 'done' }], usage, stop: 'end' }
      else
        yield {
          type: 'reply',
          content: [{ type: 'tool_call', id: `c${turn}`, name: 'echo', input: '{}' }],
          usage,
          stop: 'tool_use',
        }
    },
  }
}

describe('a long run', () => {
  test('10,000 turns in one run grow no stack', async () => {
    const depths: number[] = []
    const provider = tireless(10_000, (turn) => {
      if (turn === 10 || turn === 9_999) depths.push(new Error().stack!.split('\n').length)
    })
    const agent = createAgent({ provider, tools: { echo: tool('echo', () => 'ok') } })
    const stats = await agent.run({ prompt: 'go' })
    expect([stats.turns, stats.text, agent.turns.length]).toEqual([10_000, 'done', 20_000])
    expect(depths[1]).toBe(depths[0])
  })

  test('what a run keeps per turn is the turn: nothing is left of requests, drafts and contexts', async () => {
    const refs: WeakRef<object>[] = []
    const agent = createAgent({
      provider: tireless(50),
      tools: {
        echo: tool('echo', (_, ctx) => {
          refs.push(new WeakRef(ctx))
          return ctx.signal.aborted ? 'no' : 'ok'
        }),
      },
    })
    agent.hooks.hook('turn:before', (ctx) => void refs.push(new WeakRef(ctx), new WeakRef(ctx.options)))
    await agent.run({ prompt: 'go' })
    await collectGarbage()
    expect(refs.length).toBe(149)
    expect(refs.filter((ref) => ref.deref()).length).toBeLessThan(5)
  })
})

test('200 agents in one process do not see each other', async () => {
  const store = createMemoryStore()
  const one = async (i: number) => {
    const secret = `canary-${i}-`
    const session = await createSession({ store, id: `s${i}` })
    const execution = memoryExecution({ files: { 'me.txt': secret }, cwd: `/home/${i}` })
    const provider = scripted({ text: secret, calls: [call('1', 'whoami')] }, `I am ${secret}`, {
      options: { name: `p${i}` },
    })
    const whoami = tool('whoami', (_, ctx) => ctx.execution.readFile(ctx.handle, 'me.txt'))
    const heard: string[] = []
    const agent = createAgent({
      provider,
      session,
      execution,
      system: secret,
      tools: { whoami },
      hooks: { 'stream:text': (ctx) => void heard.push(ctx.delta) },
    })
    const stats = await agent.run({ prompt: `go ${secret}` })
    const everything = JSON.stringify([
      stats,
      heard.join(''),
      agent.turns,
      provider.requests,
      await store.read(`s${i}`),
    ])
    await agent.destroy()
    return new Set(everything.match(/canary-\d+-/g))
  }
  const seen = await Promise.all(Array.from({ length: 200 }, (_, i) => one(i)))
  expect(seen.map((canaries) => [...canaries])).toEqual(seen.map((_, i) => [`canary-${i}-`]))
})

describe('after destroy()', () => {
  test('no timer is left, whatever the run was doing', async () => {
    const clock = fakeClock()
    const session = await createSession({ store: createMemoryStore({ clock }), clock })
    const provider = scripted([call('1', 'slow'), call('2', 'slow')])
    const slow = tool('slow', () => new Promise<string>(() => {}), { isConcurrencySafe: true })
    const agent = createAgent({ provider, session, clock, tools: { slow } })
    const running = agent.run({ prompt: 'go' })
    await clock.advance(10)
    expect(clock.pending).toBe(3) // a time limit for each call, and the lease
    await agent.destroy()
    await expect(running).rejects.toThrow('aborted')
    expect(clock.pending).toBe(0)
  })

  test('no listener is left on a signal from outside, nor on the log', async () => {
    const { signal } = new AbortController()
    const agent = createAgent({ provider: scripted('one', 'two') })
    await agent.run({ prompt: 'go', signal })
    await agent.run({ prompt: 'again', signal })
    await agent.destroy()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('no handle is left in the process', async () => {
    const before = process.getActiveResourcesInfo().sort()
    const session = await createSession()
    const agent = createAgent({
      provider: scripted([call('1', 'echo')], 'fin'),
      session,
      tools: { echo: tool('echo', async () => 'ok') },
    })
    await agent.run({ prompt: 'go' })
    await agent.destroy()
    expect(process.getActiveResourcesInfo().sort()).toEqual(before)
  })

  test('the agent says so when it is used again', async () => {
    const agent = createAgent({ provider: scripted('never') })
    await agent.destroy()
    await expect(agent.run({ prompt: 'go' })).rejects.toThrow('This agent was destroyed; create another one')
  })
})

/** Weak references are kept alive until the present task is over, so a task has to pass in between. */
async function collectGarbage(): Promise<void> {
  const { setFlagsFromString } = await import('node:v8')
  const { runInNewContext } = await import('node:vm')
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 0))
    gc()
  }
}
