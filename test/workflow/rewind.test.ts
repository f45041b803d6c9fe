import { describe, expect, test } from 'vitest'
import { createMessageList } from '../../src/chat/message-list.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import { definition, world } from './kit.ts'

describe('removing a message', () => {
  test('it is removed with all later ones, its content is returned, and it can be sent again', async () => {
    const { workflow, provider, updates } = world(['One.', 'Two.', 'Three.'])
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'first')
    const file = { mediaType: 'text/plain', data: 'aGk=', name: 'hi.txt' }
    await workflow.sendMsgToAgent(id, { text: 'second', file })
    const list = createMessageList()
    for (const message of await workflow.getMessages(id)) list.apply(message)
    const [, turn] = list.turns
    updates.length = 0

    expect(await workflow.rewind(id, turn!.user!.id)).toEqual({ text: 'second', file })
    expect((await workflow.getMessages(id)).map(({ content }) => content)).toEqual(['first', 'One.'])
    expect(await workflow.getStatus(id)).toMatchObject({ state: 'completed', message: { content: 'One.' } })
    const removed = updates.flatMap((update) => (update.type === 'removed' ? update.messageIds : []))
    for (const messageId of removed) list.remove(messageId)
    expect(list.turns.map(({ messages }) => messages.map(({ content }) => content))).toEqual([['first', 'One.']])

    expect((await workflow.sendMsgToAgent(id, 'again')).message?.content).toBe('Three.')
    expect(texts(provider.requests[2]!.messages)).toEqual(['user: first', 'assistant: One.', 'user: again'])
  })

  test('the first message is removed with everything, also after a restart', async () => {
    const first = world(['One.'])
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'first')
    const [message] = await first.workflow.getMessages(id)
    await first.workflow.rewind(id, message!.id)
    expect(await first.workflow.getMessages(id)).toEqual([])
    await first.workflow.close()
    const second = first.again()
    await second.workflow.start()
    expect(second.provider.requests).toEqual([])
    expect(await second.workflow.getStatus(id)).toMatchObject({ state: 'submitted' })
    second.provider.push('Hello.')
    expect((await second.workflow.sendMsgToAgent(id, 'hi')).message?.content).toBe('Hello.')
    expect(texts(second.provider.requests[0]!.messages)).toEqual(['user: hi'])
  })

  test('a pending question is removed with its message', async () => {
    const { workflow } = world([[call('q1', 'ask-question', { question: 'Which?' })]], {
      definitions: [definition('ask-question')],
    })
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'Paint')
    const [message] = await workflow.getMessages(id)
    await workflow.rewind(id, message!.id)
    expect(await workflow.pending()).toEqual([])
    expect((await workflow.getStatus(id)).state).toBe('submitted')
    await expect(workflow.answerQuestion(id, 'q1', 'red')).rejects.toThrow('none waits')
  })

  test('the answer to the message before a steered one stays', async () => {
    const held = Promise.withResolvers<string>()
    const { workflow, provider } = world([() => held.promise, 'Both.'])
    const { id } = await workflow.createAgent('helper')
    const working = workflow.sendMsgToAgent(id, 'first')
    const steering = workflow.sendMsgToAgent(id, 'and this')
    await expect.poll(() => provider.requests.length).toBe(1)
    await expect(workflow.rewind(id, 'x')).rejects.toThrow(
      `agent ${id} is at work; cancel it before a rewind or rollback`,
    )
    held.resolve('One.')
    await Promise.all([working, steering])
    const steered = (await workflow.getMessages(id)).find(({ content }) => content === 'and this')
    expect(await workflow.rewind(id, steered!.id)).toEqual({ text: 'and this' })
    expect((await workflow.getMessages(id)).map(({ content }) => content)).toEqual(['first', 'One.'])
  })

  test('of messages that waited together one is returned, and all are removed', async () => {
    const held = Promise.withResolvers<string>()
    const { workflow, provider, updates, log } = world([() => held.promise, 'Both.', 'Again.'])
    const { id } = await workflow.createAgent('helper')
    const working = workflow.sendMsgToAgent(id, 'first')
    await expect.poll(() => provider.requests.length).toBe(1)
    const file = { mediaType: 'text/plain', data: 'aGk=', name: 'hi.txt' }
    const steering = [workflow.sendMsgToAgent(id, 'this'), workflow.sendMsgToAgent(id, { text: 'and that', file })]
    await expect.poll(async () => (await log(id)).filter(({ type }) => type === 'input').length).toBe(2)
    held.resolve('One.')
    await Promise.all([working, ...steering])
    const gone = (await workflow.getMessages(id)).slice(2)
    expect(gone.map(({ content }) => content)).toEqual(['this', 'and that', 'Both.'])

    expect(await workflow.rewind(id, gone[1]!.id)).toEqual({ text: 'and that', file })
    expect((await workflow.getMessages(id)).map(({ content }) => content)).toEqual(['first', 'One.'])
    expect(updates.flatMap((update) => (update.type === 'removed' ? update.messageIds : []))).toEqual(
      gone.map((message) => message.id),
    )
    await workflow.sendMsgToAgent(id, 'again')
    expect(texts(provider.requests[2]!.messages)).toEqual(['user: first', 'assistant: One.', 'user: again'])
  })

  test.each([
    ['an answer', 1],
    ['nothing of the kind', 7],
  ])('%s cannot be taken back, and the error says how to find what can', async (_, at) => {
    const { workflow } = world(['One.'])
    const { id } = await workflow.createAgent('helper')
    await workflow.sendMsgToAgent(id, 'first')
    const messageId = (await workflow.getMessages(id))[at]?.id ?? 'nothing'
    await expect(workflow.rewind(id, messageId)).rejects.toThrow(
      `agent ${id} has no message of a person "${messageId}"; getMessages lists what was said`,
    )
    expect(await workflow.getMessages(id)).toHaveLength(2)
  })
})
