import { expect, test } from 'vitest'
import { createMemoryAudit } from '../authority/audit/audit.ts'
import type { Prompt } from '../authority/interaction/interactor-queue.ts'
import { createAgent, createMemoryStore, createSession } from '../index.ts'
import type { PluginSetup } from '../plugins/plugin.ts'
import { askQuestionPlugin } from '../plugins/tools/ask-question.ts'
import { call, fakeClock, scripted, texts, tool } from '../testing/index.ts'
import {
  type ApprovalCard,
  answerApproval,
  approvalOfPending,
  approvalOfPrompt,
  approvalPendingAnswers,
  approvalResponse,
  isPendingApproval,
} from './approval-card.ts'
import { questionOfPending, questionPendingAnswer, submitQuestion, toggleOption } from './question-card.ts'

test('D044 a question that waits in a session becomes a card, and its answer the result of the same call', async () => {
  const setup: PluginSetup = {
    config: {},
    entry: { id: 'q', toolId: 'ask-question' },
    services: { agentId: 'a', clock: fakeClock() },
  }
  const input = { question: 'Which?', options: [{ label: 'Red' }, { label: 'Blue' }], inputType: 'multi-select' }
  const session = await createSession({ store: createMemoryStore(), id: 's' })
  const agent = createAgent({
    provider: scripted([call('1', 'ask-question', input)], 'Thanks.'),
    session,
    tools: Object.fromEntries(askQuestionPlugin.tools!(setup).map((one) => [one.spec.name, one])),
  })
  expect((await agent.run({ prompt: 'go' })).status).toBe('suspended')

  const [waiting] = session.pending
  expect(isPendingApproval(waiting!)).toBe(false)
  const outcome = submitQuestion([0, 1].reduce(toggleOption, questionOfPending(waiting!)))
  await session.answer(outcome.card.id, questionPendingAnswer(outcome.card)!)
  expect((await agent.run()).text).toBe('Thanks.')
  expect(texts(agent.turns)[2]).toBe('user: ←The user chose: Red, Blue')
  await agent.destroy()
})

test('D044 a call that waits for permission in a session becomes a card; its denial is what the model reads', async () => {
  const session = await createSession({ store: createMemoryStore(), id: 's' })
  const ran: string[] = []
  const agent = createAgent({
    provider: scripted([call('1', 'deploy', { to: 'production' })], 'Not done.'),
    session,
    tools: { deploy: tool('deploy', (_, { callId }) => String(ran.push(callId))) },
    authority: { mode: 'ask', audit: createMemoryAudit() },
  })
  expect((await agent.run({ prompt: 'go' })).status).toBe('suspended')

  const [waiting] = session.pending
  expect(isPendingApproval(waiting!)).toBe(true)
  const card = approvalOfPending(waiting!)
  expect(card.calls).toMatchObject([{ callId: '1', tool: 'deploy', parameters: { to: 'production' } }])
  expect(card.calls[0]?.lines).toContain('  to: production')
  const outcome = answerApproval(card, 'deny', { note: 'not on a Friday' })
  if (!outcome.isAccepted) throw new Error(outcome.reason)
  for (const [callId, answer] of approvalPendingAnswers(outcome.answer)) await session.answer(callId, answer)
  expect((await agent.run()).text).toBe('Not done.')
  expect(texts(agent.turns)[2]).toContain('not on a Friday')
  expect(ran).toEqual([])
  await agent.destroy()
})

test('D044 a live prompt about several calls becomes one card, and each call gets its decision', async () => {
  const cards: ApprovalCard[] = []
  const ran: string[] = []
  const person = (prompt: Prompt): unknown => {
    const outcome = answerApproval(approvalOfPrompt(prompt), 'allow', { except: ['2'] })
    cards.push(outcome.card)
    return outcome.isAccepted ? approvalResponse(outcome.answer) : undefined
  }
  const deploy = tool('deploy', (_, { callId }) => String(ran.push(callId)))
  const agent = createAgent({
    provider: scripted(
      [call('1', 'deploy', { to: 'a' }), call('2', 'deploy', { to: 'b' }), call('3', 'deploy')],
      'Done.',
    ),
    tools: { deploy },
    authority: { mode: 'ask', batchPrompts: true, audit: createMemoryAudit(), interactors: [person] },
  })
  await agent.run({ prompt: 'go' })
  expect(cards).toHaveLength(1)
  expect(cards[0]?.calls.map(({ callId, tool }) => [callId, tool])).toEqual([
    ['1', 'deploy'],
    ['2', 'deploy'],
    ['3', 'deploy'],
  ])
  expect(ran).toEqual(['1', '3'])
  await agent.destroy()
})
