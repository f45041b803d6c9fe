import { describe, expect, test } from 'vitest'
import { createAgent, createMemoryStore, createSession, createSpawnTool, loadSession } from '../../src/index.ts'
import { call, fakeClock, scripted, texts, tool } from '../../src/testing/index.ts'

describe('a suspended run', () => {
  test('says so, keeps its call open, and runs it again when it is resumed', async () => {
    let answer: string | undefined
    const ask = tool('ask', (_, ctx) => answer ?? ctx.suspend('question'))
    const agent = createAgent({ provider: scripted([call('1', 'ask')], 'fin'), tools: { ask } })
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ status: 'suspended', stopReason: 'question' })
    expect(texts(agent.turns)).toEqual(['user: go'])
    answer = 'blue'
    expect(await agent.run()).toMatchObject({ status: 'completed', text: 'fin' })
    expect(texts(agent.turns)[2]).toBe('user: ←blue')
  })

  test.each([{}, true, { reason: '' }])('a halt without a reason (%j) suspends all the same', async (halt) => {
    const agent = createAgent({ provider: scripted([call('1', 'ask')]), tools: { ask: tool('ask', () => 'never') } })
    agent.hooks.hook('tool:gate', (gate) => Object.assign(gate, { halt }))
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ status: 'suspended', stopReason: 'suspended' })
  })

  test('a child that is suspended suspends its parent, and both go on together', async () => {
    let allowed = false
    const provider = scripted([call('1', 'spawn', { task: 'look' })], [call('2', 'risky')], 'child done', 'fin')
    const session = await createSession({ store: createMemoryStore(), id: 's' })
    const risky = tool('risky', () => 'did it')
    const agent = createAgent({ provider, session, tools: { risky, spawn: createSpawnTool() } })
    agent.hooks.hook('child:tool:gate', (gate) => {
      if (!allowed) gate.halt = { reason: 'permission' }
    })
    expect(await agent.run({ prompt: 'go' })).toMatchObject({ status: 'suspended', stopReason: 'permission' })
    allowed = true
    expect((await agent.run()).text).toBe('fin')
    expect(texts(agent.turns)[2]).toBe('user: ←child done')
    expect(provider.requests.length).toBe(4)
  })

  test('what a tool did through other tools before it was suspended is not done twice', async () => {
    let paid = 0
    let mayShip = false
    const order = tool('order', async (_, ctx) => {
      const { output } = await ctx.call('pay', {})
      return `${output}, ${(await ctx.call('ship', {})).output}`
    })
    const pay = tool('pay', () => `paid ${++paid}`)
    const agent = createAgent({
      provider: scripted([call('1', 'order')], 'fin'),
      tools: { order, pay, ship: tool('ship', () => 'shipped') },
    })
    agent.hooks.hook('tool:gate', (gate) => {
      if (gate.name === 'ship' && !mayShip) gate.halt = { reason: 'permission' }
    })
    expect((await agent.run({ prompt: 'go' })).status).toBe('suspended')
    mayShip = true
    await agent.run()
    expect([paid, texts(agent.turns)[2]]).toEqual([1, 'user: ←paid 1, shipped'])
  })

  test('a question that waits is still there when the resuming process dies before it is asked again', async () => {
    const store = createMemoryStore()
    const ask = tool('ask', (_, ctx) => ctx.suspend('question'))
    const first = createAgent({
      provider: scripted([call('1', 'ask')]),
      session: await createSession({ store, id: 's' }),
      tools: { ask },
    })
    await first.run({ prompt: 'go' })
    const dying = await loadSession(store, 's')
    await dying.startRun({ runId: 'dies', model: 'm' })
    const again = createAgent({
      provider: scripted('fin'),
      session: await loadSession(store, 's'),
      tools: { ask: tool('ask', () => 'blue') },
    })
    await again.run()
    expect(texts(again.turns)[2]).toBe('user: ←blue')
  })

  test('aborting the run that resumes it answers its calls: none of them waits for yet another run', async () => {
    const deploy = tool('deploy', (_, ctx) => ctx.suspend('question'))
    const agent = createAgent({ provider: scripted([call('1', 'deploy')], 'fin'), tools: { deploy } })
    await agent.run({ prompt: 'go' })
    await expect(agent.run({ signal: AbortSignal.abort() })).rejects.toThrow('aborted')
    expect(texts(agent.turns)[2]).toMatch(/^user: ←Aborted: the run was stopped while this call ran/)
    expect((await agent.run()).text).toBe('fin')
  })

  test('results that a new prompt writes for open calls are told like any others', async () => {
    const ask = tool('ask', (_, ctx) => ctx.suspend('question'))
    const agent = createAgent({ provider: scripted([call('1', 'ask')], 'fin'), tools: { ask } })
    await agent.run({ prompt: 'go' })
    const told: string[][] = []
    agent.hooks.hook('session:turns', ({ turns }) => told.push(texts(turns)))
    await agent.run({ prompt: 'never mind' })
    const skipped =
      'user: ←Skipped: the user sent a new message before this call ended. Its effects may or may not have happened; check before repeating it.'
    expect(told[0]).toEqual([skipped, 'user: never mind'])
  })
})

describe('what a tool leaves behind', () => {
  test('ends with the call: a child that is not awaited is stopped, and none can be started later', async () => {
    const provider = scripted([call('1', 'leave')], (_, signal) => hangUntil(signal), 'fin')
    let createLater: (() => Promise<unknown>) | undefined
    const leave = tool('leave', async (_, ctx) => {
      createLater = () => ctx.createChild()
      const child = await ctx.createChild()
      void child.run({ prompt: 'forever' }).catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 5)) // until it hangs
      return 'started'
    })
    const agent = createAgent({ provider, tools: { leave } })
    const stats = await agent.run({ prompt: 'go' })
    expect([stats.text, stats.children.map((child) => child.status)]).toEqual(['fin', ['aborted']])
    await expect(createLater!()).rejects.toThrow('call of leave has ended')
  })

  test('two children of one call are two', async () => {
    const provider = scripted([call('1', 'two')], 'a', 'b', 'fin')
    const two = tool('two', async (_, ctx) => {
      const one = await (await ctx.createChild()).run({ prompt: 'first' })
      const other = await (await ctx.createChild()).run({ prompt: 'second' })
      return `${one.text} ${other.text}`
    })
    const store = createMemoryStore()
    const agent = createAgent({ provider, session: await createSession({ store, id: 's' }), tools: { two } })
    const { children } = await agent.run({ prompt: 'go' })
    expect(children.map(({ childId }) => childId)).toEqual(['s/1', 's/1~2'])
    expect(texts(agent.turns)[2]).toBe('user: ←a b')
  })

  test('people at the gate of an inner call do not use up the time of the outer one', async () => {
    const clock = fakeClock()
    const inner = tool('inner', () => 'in')
    const outer = tool('outer', async (_, ctx) => (await ctx.call('inner', {})).output)
    const agent = createAgent({ provider: scripted([call('1', 'outer')], 'fin'), clock, tools: { inner, outer } })
    agent.hooks.hook(
      'tool:gate',
      ({ name }) => name === 'inner' && new Promise<void>((resolve) => clock.timer(60_000, resolve)),
    )
    const running = agent.run({ prompt: 'go' })
    await clock.advance(120_000)
    await running
    expect(texts(agent.turns)[2]).toBe('user: ←in')
  })
})

function hangUntil(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}
