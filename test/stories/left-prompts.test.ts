import { describe, expect, test } from 'vitest'
import type { InboxItem } from '../../src/core/log.ts'
import { textOf } from '../../src/core/turn.ts'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { call, type Step, scripted, texts, tool } from '../../src/testing/index.ts'

const message = (mode: InboxItem['mode'], text: string): InboxItem => ({
  clientKey: text,
  mode,
  content: [{ type: 'text', text }],
})

/** A session whose last run failed: what was said in it has no answer. */
async function unanswered(...steps: Step[]) {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const provider = scripted(new Error('down'), ...steps)
  const agent = createAgent({ provider, session, tools: { look: tool('look', () => 'seen') } })
  await agent.run({ prompt: 'first' }).catch(() => {})
  const asked = () => provider.requests.slice(1).map(({ messages }) => texts(messages).at(-1))
  return { store, agent, provider, asked }
}

describe('what was left for a session whose last word has no answer', () => {
  test('a prompt comes before the model is asked, and once', async () => {
    const { store, agent, asked, provider } = await unanswered('Both.', 'Again.')
    await store.send('s', message('prompt', 'second'))
    await agent.run()
    expect(asked()).toEqual(['user: second'])
    expect(texts(agent.turns)).toEqual(['user: first', 'user: second', 'assistant: Both.'])
    await agent.run()
    expect(provider.requests).toHaveLength(2)
  })

  test('of several prompts the oldest comes first, and the others are follow-ups, one by one', async () => {
    const { store, agent, asked } = await unanswered('One.', 'Two.', 'Three.')
    for (const text of ['a', 'b', 'c']) await store.send('s', message('prompt', text))
    await agent.run()
    expect(asked()).toEqual(['user: a', 'user: b', 'user: c'])
  })

  test('steering comes before the model is asked, and a follow-up still waits until the model is done', async () => {
    const { store, agent, asked } = await unanswered([call('1', 'look')], 'Steered.', 'Followed.')
    await store.send('s', message('followUp', 'later'))
    await store.send('s', message('steer', 'left'))
    await agent.run()
    expect(asked()).toEqual(['user: left', 'user: ←seen', 'user: later'])
  })

  test('the same where the run before was aborted', async () => {
    const abort = new AbortController()
    const { store, agent, asked } = await unanswered(() => {
      abort.abort()
      return 'never said'
    }, 'Steered.')
    await agent.run({ signal: abort.signal }).catch(() => {})
    await store.send('s', message('steer', 'left'))
    await agent.run()
    expect(asked()).toEqual(['user: first', 'user: left'])
    expect(texts(agent.turns)).toEqual(['user: first', 'user: left', 'assistant: Steered.'])
  })

  test('a prompt does not come between a call and its result', async () => {
    const store = createMemoryStore()
    const session = await createSession({ store, id: 's' })
    const ask = tool('ask', (_, { answer, suspend }) =>
      answer ? textOf({ role: 'user', content: answer }) : suspend('who?'),
    )
    const provider = scripted([call('1', 'ask')], 'Thanks.', 'And that.')
    const agent = createAgent({ provider, session, tools: { ask } })
    await agent.run({ prompt: 'first' })
    await store.send('s', message('prompt', 'second'))
    await session.answer('1', { content: 'me' })
    await agent.run()
    expect(texts(agent.turns).slice(2)).toEqual([
      'user: ←me',
      'assistant: Thanks.',
      'user: second',
      'assistant: And that.',
    ])
  })
})
