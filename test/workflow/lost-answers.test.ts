import { describe, expect, test } from 'vitest'
import { call } from '../../src/testing/scripted.ts'
import { definition, short, withTool, world } from './kit.ts'

const ask = call('q1', 'ask-question', { question: 'Which colour?' })
const confirmed = definition({ toolId: 'paint', approval: { mode: 'confirm' } })

describe('if the definition no longer has the tool of a pending call', () => {
  test('D032 an answer is refused with the name of the tool, the question stays, and a workflow with the tool can answer', async () => {
    const first = world([[ask], 'Blue it is.'], { definitions: [definition('ask-question')] })
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Paint')
    const changed = first.again({ definitions: [definition()] })
    await expect(changed.workflow.answerQuestion(id, 'q1', 'blue')).rejects.toThrow(
      'the definition "helper" has no tool "ask-question" any more, so the answer to question "q1" would be lost, and was not taken; give it the tool again, or send the agent a message',
    )
    expect((await changed.workflow.getStatus(id)).state).toBe('input-required')
    expect(await changed.workflow.pending(id)).toHaveLength(1)
    expect((await first.workflow.answerQuestion(id, 'q1', 'blue')).message?.content).toBe('Blue it is.')
  })

  test('an allow is refused, and a denial is accepted', async () => {
    const first = world([[call('1', 'paint')]], {
      definitions: [confirmed],
      plugins: [withTool('paint', () => 'painted')],
    })
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Paint')
    const changed = first.again({ definitions: [definition()] })
    changed.provider.push('Then not.')
    await expect(changed.workflow.resolveApproval(id, '1', 'allow')).rejects.toThrow(
      'the definition "helper" has no tool "paint" any more, so the permission for call "1" would be lost',
    )
    expect(await changed.workflow.pending(id)).toHaveLength(1)
    expect((await changed.workflow.resolveApproval(id, '1', 'deny')).message?.content).toBe('Then not.')
  })

  test('an answer to a sub-agent is refused if it, or its parent, no longer has the tool', async () => {
    const spawn = { toolId: 'spawn-agent', approval: { mode: 'auto' } } as const
    const first = world([[call('s1', 'spawn-agent', { task: 'Ask' })], [ask], 'Blue.', 'It is blue.'], {
      definitions: [definition('ask-question', spawn)],
    })
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Paint')
    for (const [kept, lost] of [
      ['ask-question', 'spawn-agent'],
      [spawn, 'ask-question'],
    ] as const) {
      const { workflow } = first.again({ definitions: [definition(kept)] })
      await expect(workflow.answerQuestion(id, 'q1', 'blue')).rejects.toThrow(`has no tool "${lost}" any more`)
    }
    expect((await first.workflow.answerQuestion(id, 'q1', 'blue')).message?.content).toBe('It is blue.')
  })
})

test.each(['', '   ', '\n'])('D032 an empty answer (%j) is refused, and the question stays', async (empty) => {
  const { workflow } = world([[ask], 'Blue it is.'], { definitions: [definition('ask-question')] })
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Paint')
  await expect(workflow.answerQuestion(id, 'q1', empty)).rejects.toThrow(
    `the answer to question "q1" of agent ${id} is empty; say something`,
  )
  expect(await workflow.pending(id)).toHaveLength(1)
  expect((await workflow.answerQuestion(id, 'q1', 'blue')).state).toBe('completed')
  expect(short(await workflow.getMessages(id)).at(-1)).toBe('assistant: Blue it is.')
})
