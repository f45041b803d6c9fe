import { expect, test, vi } from 'vitest'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { short, world } from './kit.ts'

test('a workflow that is closed during work cancels no agent: the sender gets submitted, and the next start continues', async () => {
  const reached = Promise.withResolvers<void>()
  const first = world([
    (_, signal) => {
      reached.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  ])
  const { id } = await first.workflow.createAgent('helper')
  const sent = first.workflow.sendMsgToAgent(id, 'Long work')
  await reached.promise
  const steered = first.workflow.sendMsgToAgent(id, 'And this')
  await vi.waitFor(async () => expect((await first.log(id)).some(({ type }) => type === 'input')).toBe(true))
  await first.workflow.close()
  expect((await sent).state).toBe('submitted')
  expect((await steered).state).toBe('submitted')
  const states = first.updates.flatMap((one) => (one.type === 'status' ? [one.status.state] : []))
  expect(states).toEqual(['working', 'submitted'])

  const { workflow, provider } = first.again()
  provider.push('Done.', 'That too.')
  await workflow.start()
  await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
})

test('what a person cancelled before the workflow was closed stays cancelled', async () => {
  const reached = Promise.withResolvers<void>()
  const made = world([
    (_, signal) => {
      reached.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  ])
  const { workflow } = made
  const { id } = await workflow.createAgent('helper')
  const sent = workflow.sendMsgToAgent(id, 'Long work')
  await reached.promise
  await Promise.all([workflow.cancelAgent(id), workflow.close()])
  expect((await sent).state).toBe('canceled')
  expect((await made.again().workflow.getStatus(id)).state).toBe('canceled')
})

test('a handler that was closed before it executed anything is called again by the next start', async () => {
  const begun = Promise.withResolvers<void>()
  const slow: AgentHandler = async function* ({ isCancelled, execute, prompt }) {
    begun.resolve()
    if (prompt) await vi.waitFor(() => expect(isCancelled()).toBe(true))
    else yield* execute()
  }
  const first = world([], { handlers: { slow } })
  const { id } = await first.workflow.createAgent('helper', { handlerId: 'slow' })
  const sent = first.workflow.sendMsgToAgent(id, 'Long work')
  await begun.promise
  await first.workflow.close()
  expect((await sent).state).toBe('submitted')
  const { workflow, provider } = first.again()
  provider.push('Done.')
  await workflow.start()
  await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
  expect(short(await workflow.getMessages(id))).toEqual(['user: Long work', 'assistant: Done.'])
})
