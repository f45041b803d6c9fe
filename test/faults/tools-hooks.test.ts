import { existsSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { AgentAbortedError, type AgentHookMap } from '../../src/index.ts'
import { call } from '../../src/testing/index.ts'
import {
  answersOf,
  longSleep,
  onLinux,
  openCallsOf,
  openWorld,
  processesWith,
  untilGone,
  type World,
} from './tools-kit.ts'

const worlds: World[] = []
afterEach(() => Promise.all(worlds.splice(0).map(({ close }) => close())))

function world(hooks: AgentHookMap = {}): World {
  const opened = openWorld({ hooks })
  worlds.push(opened)
  return opened
}

describe.skipIf(!onLinux)('FT-22 an abort (Linux only)', () => {
  /** At each moment of the second call. */
  const moments = ['tool:gate', 'tool:before', 'tool:progress', 'tool:transform', 'tool:after'] as const

  test.each(moments)('at %s of a call leaves every call answered and nothing running', async (moment) => {
    const sleep = longSleep()
    const here = world()
    const { agent, provider, held } = here
    here.put('a.txt', 'one\n')
    agent.hooks.hook(moment, ({ callId }: { callId: string }) => {
      if (callId === '2') agent.abort()
    })
    provider.push([
      call('1', 'edit', { path: 'a.txt', old_string: 'one', new_string: 'two' }),
      call('2', 'shell', { command: `(setsid ${sleep} &); echo out; sleep 0.1` }),
      call('3', 'shell', { command: 'echo never > never.txt' }),
      call('4', 'read_file', { path: 'a.txt' }),
    ])
    await expect(agent.run({ prompt: 'go' })).rejects.toBeInstanceOf(AgentAbortedError)
    expect(agent.isRunning).toBe(false)
    expect(openCallsOf(agent.turns)).toEqual([])
    const answers = answersOf(agent.turns)
    expect(answers.get('1')).toEqual({ output: 'Edited a.txt (1 replacement, line 1)', isError: false })
    for (const id of ['3', '4']) expect(answers.get(id)!.output).toMatch(/^Aborted: the run was stopped/)
    expect(held('a.txt')).toBe('two\n')
    expect(existsSync(here.at('never.txt'))).toBe(false)
    await untilGone(sleep)
  })

  test('at a gate that waits for a person ends the waiting, and the command is never run', async () => {
    const here = world()
    const asked = Promise.withResolvers<void>()
    here.agent.hooks.hook('tool:gate', () => {
      asked.resolve()
      return new Promise(() => {})
    })
    here.provider.push([call('1', 'shell', { command: 'echo run > run.txt' })])
    const running = here.agent.run({ prompt: 'go' })
    await asked.promise
    here.agent.abort()
    await expect(running).rejects.toBeInstanceOf(AgentAbortedError)
    expect(answersOf(here.agent.turns).get('1')!.output).toMatch(/^Aborted: the run was stopped/)
    expect(existsSync(here.at('run.txt'))).toBe(false)
  })

  test('of one of two agents in the same place leaves the other at work', async () => {
    const one = world()
    const two = openWorld({ execution: one.execution })
    worlds.push(two)
    const sleep = longSleep()
    one.provider.push([call('1', 'shell', { command: sleep })])
    const running = one.agent.run({ prompt: 'go' })
    const other = two.use('shell', { command: `sleep 1; echo done` })
    for (let tries = 0; processesWith(sleep).length === 0 && tries < 1000; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5))
    one.agent.abort()
    await expect(running).rejects.toBeInstanceOf(AgentAbortedError)
    await untilGone(sleep)
    expect((await other).output).toMatch(/^done\n\(exit 0/)
  })
})

describe('FT-23 a handler that fails', () => {
  const broken = (): never => {
    throw new Error('the handler is broken')
  }
  const run = { command: 'echo run > run.txt' }

  test('at the gate keeps the command from being run', async () => {
    const here = world({ 'tool:gate': broken, 'hook:error': () => {} })
    const { output, isError } = await here.use('shell', run)
    expect(output).toMatch(/^Blocked: /)
    expect([isError, existsSync(here.at('run.txt'))]).toEqual([true, false])
  })

  test.each(['no', 42, null, [], { block: 'perhaps' }])(
    'at the gate: what it returns (%j) means nothing',
    async (nonsense) => {
      const here = world({ 'tool:gate': (() => nonsense) as never })
      expect((await here.use('shell', run)).isError).toBe(false)
      expect(existsSync(here.at('run.txt'))).toBe(true)
    },
  )

  test.each(['tool:before', 'tool:progress', 'tool:after', 'turn:after'] as const)(
    'at %s, which only looks on, changes nothing and is told',
    async (name) => {
      const told: string[] = []
      const here = world({ [name]: broken, 'hook:error': ({ hook }: { hook: string }) => void told.push(hook) })
      const { output } = await here.use('shell', { command: 'echo out; echo run > run.txt' })
      expect(output).toMatch(/^out\n\(exit 0/)
      expect(existsSync(here.at('run.txt'))).toBe(true)
      expect(told).toContain(name)
    },
  )

  test('in making a result fit for the model keeps the result back', async () => {
    const here = world({ 'tool:transform': broken, 'hook:error': () => {} })
    here.put('secret.txt', 'CANARY\n')
    const { output } = await here.use('read_file', { path: 'secret.txt' })
    expect(output).not.toContain('CANARY')
    expect(JSON.stringify(here.agent.turns)).not.toContain('CANARY')
  })
})
