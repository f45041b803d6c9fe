import { expect, test } from 'vitest'
import type { Interactor, Prompt } from '../../authority/interaction/interactor-queue.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { scripted } from '../../testing/index.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import { createWorkflow, type Workflow } from '../../workflow/workflow.ts'
import { askPerson, untilAnsweredElsewhere } from './ask-person.ts'

const question: PendingApproval = {
  ...{ sessionId: 'agent-a', callId: 'call_0', approvalId: 'agent-a/call_0', name: 'ask-question' },
  ...{ input: { question: 'Which tea?' }, reason: 'question', digest: 'd', isQuestion: true },
}
const permission: PendingApproval = {
  ...question,
  ...{ name: 'zx-script', input: {}, reason: 'permission-required', isQuestion: false },
  request: { payload: { consent: { lines: ['tool: zx-script', 'runs in: /desk/app', 'runs in: an argument'] } } },
}

/** A person who gives these answers, one after the other. */
function personWho(...values: readonly unknown[]) {
  const prompts: Prompt[] = []
  const person: Interactor = {
    name: 'user',
    async present(prompt) {
      prompts.push(prompt)
      return { status: 'accepted', value: values[prompts.length - 1] }
    },
  }
  return { person, asked: () => prompts.map(({ payload }) => String(payload.prompt)) }
}
const at = (cwd: string) => ({ cwd, signal: new AbortController().signal })

test('an empty answer repeats the question, with a hint how to leave it for later', async () => {
  const { person, asked } = personWho('', '  ', 'green')
  const reply = await askPerson(person, question, at('/desk'))
  const said: unknown[] = []
  const workflow = { answerQuestion: async (...given: unknown[]) => said.push(...given) } as unknown as Workflow
  await reply?.give(workflow, 'agent-a')
  expect(said).toEqual(['agent-a', 'agent-a/call_0', 'green'])
  expect(asked()).toEqual(['Which tea?', ...Array(2).fill(expect.stringContaining('leave it for later with Esc'))])
})

test('an approval names its folder, and is refused in another one', async () => {
  const { person, asked } = personWho(true, true)
  const reply = await askPerson(person, permission, at('/desk/app'))
  expect(reply?.allowed).toBe(permission)
  expect(asked()[0]).toContain('runs in: /desk/app\n')
  const elsewhere = askPerson(person, permission, at('/desk/other'))
  await expect(elsewhere).rejects.toThrow('zx-script is to run in /desk/app, but this is /desk/other; allow it there')
})

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
  const isGone = untilAnsweredElsewhere({ workflow: here, store }, { agentId, call: call!, signal: over.signal })
  return { there, agentId, call: call!, over, isGone }
}

test.each(['answered', 'spoken over', 'cancelled', 'deleted'])(
  'a question that is %s elsewhere is withdrawn here',
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
