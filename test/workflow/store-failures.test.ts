import { expect, test, vi } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import type { AgentInstanceMessage } from '../../src/plugins/message.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call } from '../../src/testing/scripted.ts'
import type { WorkflowUpdate } from '../../src/workflow/listeners.ts'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { definition, failingStore, withTool, world } from './kit.ts'

test('D050 D008 with a store that fails in a call, the message is shown once, and also the result', async () => {
  const broken = { is: false }
  const plugins = [
    withTool('look', () => {
      broken.is = true
      return 'a ball'
    }),
  ]
  const { workflow, updates } = world([[call('1', 'look')]], {
    ...{ store: failingStore(broken), plugins, definitions: [definition('look')] },
  })
  const { id } = await workflow.createAgent('helper')
  expect((await workflow.sendMsgToAgent(id, 'Look')).state).toBe('failed')
  expect(bubbles(updates)).toEqual([
    ['user', 'Look', true],
    ['assistant', '', true],
    ['tool', 'a ball', false],
    ['error', expect.stringContaining('the disk is full'), false],
  ])
  broken.is = false
})

test('D050 D008 a message that was shown unsaved is replaced once it is saved', async () => {
  const broken = { is: false }
  const { workflow, updates } = world(['Hello.'], { store: failingStore(broken) })
  const { id } = await workflow.createAgent('helper')
  broken.is = true
  expect((await workflow.sendMsgToAgent(id, 'Hi', { clientKey: 'k' })).state).toBe('failed')
  expect(bubbles(updates)[0]).toEqual(['user', 'Hi', false])
  broken.is = false
  expect((await workflow.sendMsgToAgent(id, 'Hi', { clientKey: 'k' })).state).toBe('completed')
  expect(bubbles(updates).filter(([role]) => role === 'user')).toEqual([['user', 'Hi', true]])
})

test('D050 the message of a handler is shown if it cannot be saved', async () => {
  const broken = { is: false }
  const throwing: AgentHandler = async function* () {
    broken.is = true
    yield* []
    throw new Error('handler broke')
  }
  const { workflow, updates } = world([], { store: failingStore(broken), handlers: { throwing } })
  const { id } = await workflow.createAgent('helper', { handlerId: 'throwing' })
  expect((await workflow.sendMsgToAgent(id, 'Hi')).state).toBe('failed')
  expect(bubbles(updates)).toEqual([
    ['user', 'Hi', false],
    ['error', expect.stringContaining('the disk is full'), false],
  ])
  broken.is = false
})

test('after a look for unfinished work that fails, a later look finds the work', async () => {
  const broken = { is: false }
  const kept = createMemoryStore()
  const store: SessionStore = {
    ...kept,
    list: (query) => (broken.is ? Promise.reject(new Error('the disk is gone')) : kept.list(query)),
  }
  const clock = fakeClock(Date.now())
  const { workflow, errors } = world(['Hello.'], { store, clock })
  const { id } = await workflow.createAgent('helper')
  await workflow.start()
  broken.is = true
  await clock.advance(5000)
  broken.is = false
  await kept.send(id, { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hi' }] })
  await clock.advance(5000)
  await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
  expect(errors.map(({ message }) => message)).toContainEqual(expect.stringContaining('this is tried again in 5 s'))
})

/** What a screen shows after these updates. */
function bubbles(updates: readonly WorkflowUpdate[]): unknown[][] {
  const messages = new Map<string, AgentInstanceMessage>()
  for (const update of updates) {
    if (update.type === 'message') messages.set(update.message.id, update.message)
    if (update.type === 'removed') for (const id of update.messageIds) messages.delete(id)
  }
  return [...messages.values()].map(({ role, content, metadata }) => [role, content, metadata?.isPersisted])
}
