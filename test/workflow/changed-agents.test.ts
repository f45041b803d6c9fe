import { expect, test } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { call, type Step, texts } from '../../src/testing/scripted.ts'
import type { AgentChange } from '../../src/workflow/agent-settings.ts'
import { definition, withTool, world } from './kit.ts'

test('an agent that is not loaded has the name that it was last given, and can be closed', async () => {
  const first = world([])
  const { id } = await first.workflow.createAgent('helper', { name: 'Old' })
  await first.workflow.updateAgent(id, { name: 'New', maxIterations: 3 })
  const second = first.again()
  expect(await second.workflow.getAgent(id)).toMatchObject({ name: 'New', config: { maxIterations: 3 }, closed: false })
  await second.workflow.closeAgent(id)
  expect(await first.again().workflow.getAgent(id)).toMatchObject({ name: 'New', closed: true })
})

test('a changed duration of results counts for later results, here, in another process and after a restart', async () => {
  const looks = ['1', '2', '3'].map((id) => [call(id, 'look')])
  const options = { definitions: [definition('look')], plugins: [withTool('look', () => 'x')] }
  const first = world([[call('0', 'look')], 'Done.', ...looks, 'Done.'], options)
  const second = first.again()
  const { id } = await first.workflow.createAgent('helper')
  await first.workflow.sendMsgToAgent(id, 'go')
  expect(await second.workflow.getStatus(id)).toMatchObject({ state: 'completed' })
  await first.workflow.updateAgent(id, { toolResultDuration: 2 })
  await first.workflow.sendMsgToAgent(id, 'again')
  const counts = first.provider.requests.map(
    ({ messages }) => texts(messages).filter((text) => text.includes('←')).length,
  )
  expect(counts).toEqual([0, 1, 0, 1, 2, 2])
  for (const { workflow } of [first, second, first.again()]) {
    const results = (await workflow.getMessages(id)).filter(({ role }) => role === 'tool')
    expect(results.map(({ duration }) => duration)).toEqual([1, 2, 2, 2])
  }
})

/** An agent that another process changes between the last look at its log and the beginning of a run. */
async function changedAtBegin(change: AgentChange, ...steps: readonly Step[]) {
  const kept = createMemoryStore()
  let before = async (): Promise<unknown> => undefined
  const store: SessionStore = {
    ...kept,
    async lease(id, request) {
      await before()
      return kept.lease(id, request)
    },
  }
  const options = { definitions: [definition('look')], plugins: [withTool('look', () => 'x')] }
  const first = world(['One.', ...steps], { ...options, store })
  const second = first.again({ store: kept })
  const { id } = await first.workflow.createAgent('helper')
  await first.workflow.sendMsgToAgent(id, 'go')
  before = () => {
    before = async () => undefined
    return second.workflow.updateAgent(id, change)
  }
  const send = async (text: string) => (await first.workflow.sendMsgToAgent(id, text)).state
  return { ...first, id, send, isQuiet: () => first.errors.length + second.errors.length === 0 }
}

test('a run that begins while another process changes its agent is not cancelled, and the next run has the change', async () => {
  const look = (id: string) => [call(id, 'look')]
  const steps = [look('1'), look('2'), 'Two.', look('3'), 'never said']
  const { workflow, provider, id, send, isQuiet } = await changedAtBegin({ maxIterations: 1 }, ...steps)
  expect(await send('again')).toBe('completed')
  expect((await workflow.getStatus(id)).message?.content).toBe('Two.')
  await send('and again')
  expect(provider.requests).toHaveLength(5)
  expect(isQuiet()).toBe(true)
})

test('a rule that another process sets while a run begins counts in that run', async () => {
  const change = { plugins: [{ id: 'look', approval: { mode: 'confirm' } }] } as const
  const { send, isQuiet } = await changedAtBegin(change, [call('1', 'look')], 'never said')
  expect(await send('again')).toBe('input-required')
  expect(isQuiet()).toBe(true)
})
