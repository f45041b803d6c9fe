import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/events/events.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { call } from '../../src/testing/scripted.ts'
import { RollbackError } from '../../src/workflow/index.ts'
import { definition, withTool, world } from './kit.ts'

test('C05 a follower gets the entries of the log, the streamed events before them, and those of sub-agents', async () => {
  const store = createMemoryStore()
  const spawning = call('s', 'spawn-agent', { task: 'Look' })
  const { workflow } = world([[spawning], 'Seen.', [call('1', 'look')], 'Two words.', 'Unheard.'], {
    ...{ store, plugins: [withTool('look', () => 'nothing')] },
    definitions: [definition({ toolId: 'spawn-agent', approval: { mode: 'auto' } }, { toolId: 'look' })],
  })
  const { id } = await workflow.createAgent('helper')
  const before = (await store.read(id)).length
  const events: AgentEvent[] = []
  const stop = await workflow.follow(id, (event) => void events.push(event))
  await workflow.sendMsgToAgent(id, 'Ask a sub-agent.')
  await workflow.sendMsgToAgent(id, 'Look yourself.')
  stop()
  const told = events.flatMap((event) => (event.durable ? [event.entry] : []))
  expect(told).toEqual((await store.read(id)).slice(before))
  const streamed = events.flatMap((event) => (!event.durable && event.type === 'text' ? [event.delta] : []))
  expect(streamed.join('')).toContain('Two words.')
  const ofChild = events.flatMap((event) => (!event.durable && event.type === 'child' ? [event] : []))
  expect(ofChild.map(({ child }) => child.depth)).toContain(1)
  expect(ofChild.some(({ event }) => event.durable && event.entry.type === 'run_ended')).toBe(true)
  const { length } = events
  await workflow.sendMsgToAgent(id, 'Quietly.')
  expect(events).toHaveLength(length)
})

test('C05 the reason of a refused rollback is a code, independent of its text', async () => {
  const execution = memoryExecution({ exec: () => ({ stdout: '', exitCode: 127 }) })
  const { workflow } = world(['Hello.'], { execution, snapshots: { store: '/nowhere' } })
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Hello?')
  const messageId = (await workflow.getMessages(id))[0]!.id
  const codeOf = (work: Promise<unknown>) => work.catch((error) => error instanceof RollbackError && error.code)
  expect(await codeOf(workflow.rollback(id, messageId))).toBe('not_kept')
  expect(await codeOf(workflow.undoRollback(id, messageId))).toBe('nothing_to_undo')
})
