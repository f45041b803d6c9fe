import { expect, test } from 'vitest'
import { call } from '../../src/testing/scripted.ts'
import { definition, type World, withTool, world } from './kit.ts'

const ask = (id: string) => call(id, 'ask-question', { question: 'Which colour?' })
const both = {
  definitions: [definition('ask-question', { toolId: 'paint', approval: { mode: 'confirm' } })],
  plugins: [withTool('paint', () => 'painted')],
}

/** What the calls of all messages wait for, or their outcomes; as read, and as a listener received them last. */
async function marks({ workflow, updates }: World, id: string): Promise<string[]> {
  const read = await workflow.getMessages(id)
  for (const message of read.filter(({ metadata }) => metadata?.calls)) {
    const told = updates.findLast((one) => one.type === 'message' && one.message.id === message.id)
    expect(told).toMatchObject({ message: { metadata: { calls: message.metadata!.calls } } })
  }
  const calls = read.flatMap(({ metadata }) => metadata?.calls ?? [])
  return calls.map(({ callId, waitsFor, outcome }) => `${callId} ${waitsFor ?? outcome ?? 'open'}`)
}

test('D044 the message of a pending question says so until it is answered, for each question', async () => {
  const made = world([[ask('a'), ask('b')], 'Done.'], both)
  const { workflow } = made
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Paint')
  expect(await marks(made, id)).toEqual(['a answer', 'b open'])
  await workflow.answerQuestion(id, 'a', 'red')
  expect(await marks(made, id)).toEqual(['a done', 'b answer'])
  await workflow.answerQuestion(id, 'b', 'blue')
  expect(await marks(made, id)).toEqual(['a done', 'b done'])
})

test.each(['cancelAgent', 'closeAgent'] as const)('D044 no call waits for a person after %s', async (method) => {
  for (const [step, waiting] of [
    [ask('1'), 'answer'],
    [call('1', 'paint'), 'permission'],
  ] as const) {
    const made = world([[step]], both)
    const { id } = await made.workflow.createAgent('helper')
    await made.workflow.sendMsgToAgent(id, 'Paint')
    expect(await marks(made, id)).toEqual([`1 ${waiting}`])
    await made.workflow[method](id)
    expect(await made.workflow.pending(id)).toEqual([])
    expect(await marks(made, id)).toEqual(['1 open'])
  }
})

test('a call whose sub-agent waits is marked with what the sub-agent waits for', async () => {
  const spawn = { toolId: 'spawn-agent', approval: { mode: 'auto' } } as const
  const paint = { toolId: 'paint', approval: { mode: 'confirm' } } as const
  for (const [step, waiting] of [
    [ask('1'), 'answer'],
    [call('1', 'paint'), 'permission'],
  ] as const) {
    const made = world([[call('s', 'spawn-agent', { task: 'Ask' })], [step]], {
      ...both,
      definitions: [definition('ask-question', spawn, paint)],
    })
    const { id } = await made.workflow.createAgent('helper')
    await made.workflow.sendMsgToAgent(id, 'Paint')
    expect(await marks(made, id)).toEqual([`s ${waiting}`])
  }
})

test('the status of a cancelled run has no message of an earlier one', async () => {
  const made = world([() => Promise.reject(new Error('out of order')), [ask('1')]], both)
  const { workflow } = made
  const { id } = await workflow.createAgent('helper')
  expect((await workflow.sendMsgToAgent(id, 'Paint')).message?.content).toContain('out of order')
  const stopping = workflow.subscribe(id, (update) => {
    if (update.type === 'status' && update.status.state === 'working') void workflow.cancelAgent(id)
  })
  const status = await workflow.sendMsgToAgent(id, 'Again')
  stopping()
  expect(status).toMatchObject({ state: 'canceled' })
  expect(status.message?.content ?? '').not.toContain('out of order')
  expect((await made.again().workflow.getStatus(id)).message?.content ?? '').not.toContain('out of order')
})
