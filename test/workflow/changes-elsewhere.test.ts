import { expect, onTestFinished, test, vi } from 'vitest'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { type Step, scripted } from '../../src/testing/scripted.ts'
import type { WorkflowUpdate } from '../../src/workflow/listeners.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { definition } from './kit.ts'

/** Two workflows over a store that other processes may write; the first may listen to all agents. */
function twoOver(...steps: readonly Step[]) {
  const clock = fakeClock(Date.now())
  const common = { store: createMemoryStore({ clock }), clock, definitions: [definition()] }
  const updates: WorkflowUpdate[] = []
  const one = createWorkflow({ ...common, provider: scripted(...steps) })
  const two = createWorkflow({ ...common, provider: scripted('From elsewhere.', 'More from elsewhere.') })
  onTestFinished(async () => void (await Promise.all([one.close(), two.close()])))
  const listen = async (): Promise<void> => {
    one.subscribe(undefined, (update) => void updates.push(update))
    await clock.advance(1000)
  }
  const told = () => updates.flatMap((update) => (update.type === 'message' ? [update.message.content] : []))
  return { clock, one, two, listen, updates, told }
}

test('a run of this process does not hold up what other processes write about other agents', async () => {
  const asked = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<string>()
  const { clock, one, two, listen, told } = twoOver(() => {
    asked.resolve()
    return gate.promise
  })
  await listen()
  const mine = await one.createAgent('helper')
  const working = one.sendMsgToAgent(mine.id, 'Long work')
  await asked.promise
  await clock.advance(1000)
  const other = await two.createAgent('helper')
  await two.sendMsgToAgent(other.id, 'Hello')
  await clock.advance(1000)
  await vi.waitFor(() => expect(told()).toContain('From elsewhere.'))
  gate.resolve('Done.')
  expect((await working).message?.content).toBe('Done.')
  await two.sendMsgToAgent(mine.id, 'And this')
  await clock.advance(2000)
  await vi.waitFor(() => expect(told()).toContain('More from elsewhere.'))
})

test('a listener is not told again of a change that an agent had before', async () => {
  const { clock, two, listen, updates, told } = twoOver()
  const { id } = await two.createAgent('helper', { name: 'Old' })
  await two.updateAgent(id, { name: 'New' })
  await listen()
  await two.sendMsgToAgent(id, 'Hello')
  await clock.advance(1000)
  await vi.waitFor(() => expect(told()).toContain('From elsewhere.'))
  const names = () => updates.flatMap((update) => (update.type === 'agent' ? [update.agent.name] : []))
  expect(names()).toEqual([])
  await two.updateAgent(id, { name: 'Newer' })
  await clock.advance(1000)
  await vi.waitFor(() => expect(names()).toEqual(['Newer']))
})
