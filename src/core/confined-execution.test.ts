import { expect, test } from 'vitest'
import { createAgent } from '../index.ts'
import { call, memoryExecution, scripted, tool } from '../testing/index.ts'
import { checkedExecution, confinedExecution, sharedContextOf } from './confined-execution.ts'
import type { Confinement, ExecutionContext } from './execution.ts'

const confinement: Confinement = {
  ...{ profile: 'read-only', reads: [], writes: [], hidden: [], hosts: [], home: 'empty' },
}

test('every command of a tool is confined as its gate decided, whatever the tool passes to exec', async () => {
  const seen: unknown[] = []
  const execution = memoryExecution({
    exec: (_, { confinement }) => {
      seen.push(confinement)
      return {}
    },
  })
  const forgetful = tool('forgetful', async (_, { execution, handle }) => {
    await execution.exec(handle, 'one')
    await execution.exec(handle, 'two', { confinement: { ...confinement, profile: 'workspace-write' } })
    return 'done'
  })
  const provider = scripted([call('1', 'forgetful'), call('2', 'forgetful')], 'Done.')
  const agent = createAgent({ provider, tools: { forgetful }, execution })
  agent.hooks.hook('tool:gate', (ctx) => {
    if (ctx.callId === '1') ctx.confinement = confinement
  })
  await agent.run({ prompt: 'Go.' })
  await agent.destroy()
  expect(seen).toEqual([confinement, confinement, undefined, { ...confinement, profile: 'workspace-write' }])
})

test('a context without a sandbox refuses a confined command before it starts', async () => {
  const started: string[] = []
  const { sandbox: _, ...without } = memoryExecution({
    exec: (command) => {
      started.push(command)
      return {}
    },
  })
  const bound = confinedExecution(without satisfies ExecutionContext, confinement)
  await expect(bound.exec(await bound.spawn(), 'ls')).rejects.toMatchObject({ code: 'ENOSANDBOX' })
  expect(started).toEqual([])
})

test('the contexts that calls get share one context, whose queues they wait in', () => {
  const execution = memoryExecution()
  const ofCall = confinedExecution(
    checkedExecution(execution, async () => {}),
    confinement,
  )
  expect(sharedContextOf(ofCall)).toBe(execution)
  expect(sharedContextOf(execution)).toBe(execution)
})
