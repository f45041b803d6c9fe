import { expect, test } from 'vitest'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { scripted } from '../../testing/index.ts'
import { createWorkflow } from '../../workflow/workflow.ts'
import { untilNotAsked } from './until-not-asked.ts'

async function openTwo() {
  const store = createMemoryStore()
  const definition = { id: 'asker', config: { plugins: [{ id: 'ask', toolId: 'ask-question' }] } }
  const input = { question: 'Tea?', inputType: 'text' }
  const calls = [{ type: 'tool_call' as const, id: 'c', name: 'ask-question', input }]
  const open = (...says: Parameters<typeof scripted>) =>
    createWorkflow({ store, definitions: [definition], provider: scripted(...says) })
  const [here, there] = [open({ calls }), open('Thanks.')]
  const { id: agentId } = await here.createAgent('asker')
  await here.sendMsgToAgent(agentId, 'ask me')
  const [call] = await here.pending(agentId)
  const over = new AbortController()
  const isGone = untilNotAsked({ workflow: here, store }, { agentId, call: call!, signal: over.signal })
  return { there, agentId, call: call!, over, isGone }
}

test.each(['answered', 'spoken over', 'cancelled', 'deleted'])(
  'a question that is %s elsewhere is not asked any more',
  async (how) => {
    const { there, agentId, call, isGone } = await openTwo()
    if (how === 'answered') await there.answerQuestion(agentId, call.approvalId, 'yes')
    if (how === 'spoken over') await there.sendMsgToAgent(agentId, 'never mind')
    if (how === 'cancelled') await there.cancelAgent(agentId)
    if (how === 'deleted') await there.deleteAgent(agentId)
    expect(await isGone).toBe(true)
  },
)

test('a question that still waits when the prompt closes was not answered elsewhere', async () => {
  const { over, isGone } = await openTwo()
  over.abort()
  expect(await isGone).toBe(false)
})
