import { expect, test } from 'vitest'
import { createMessageList } from '../../src/chat/message-list.ts'
import { messageKinds } from '../../src/chat/renderers.ts'
import type { ModelRequest } from '../../src/core/provider.ts'
import type { AgentInstanceMessage } from '../../src/plugins/message.ts'
import { call, type Step } from '../../src/testing/scripted.ts'
import { definition, withTool, world } from './kit.ts'

const lasting = (name: string, duration: number | null | undefined) =>
  withTool(name, () => ({ output: `from ${name}`, ...(duration !== undefined && { details: { duration } }) }))

const plugins = [
  lasting('none', 0),
  lasting('once', 1),
  lasting('twice', 2),
  lasting('long', 5),
  lasting('always', null),
  lasting('usual', undefined),
  withTool('broken', () => Promise.reject(new Error('no'))),
]

test('D011 D012 the messages that a list shows as faded are those that the next model call leaves out, in every round', async () => {
  const list = createMessageList()
  const rounds: { faded: string[]; unsent: string[] }[] = []
  const compared = (step: Step) => (request: ModelRequest) => {
    const shown = list.ids.map((id) => list.get(id)!).filter(({ role }) => role === 'assistant' || role === 'tool')
    const faded = shown.filter(({ id }) => list.isFaded(id))
    rounds.push({ faded: names(faded), unsent: names(shown.filter((message) => !isSent(message, request))) })
    return step
  }
  const steps: Step[] = [
    { text: 'A', calls: [call('1', 'none')] },
    { text: 'B', calls: [call('2', 'once'), call('3', 'long')] },
    { text: 'C', calls: [call('4', 'twice'), call('5', 'none')] },
    { text: 'D', calls: [call('6', 'always'), call('7', 'usual'), call('8', 'once')] },
    { text: 'E', calls: [call('9', 'broken')] },
    { text: 'F', calls: [call('10', 'usual')] },
    'G',
    'H',
    { text: 'I', calls: [call('11', 'usual')] },
    { text: 'J', calls: [call('12', 'twice')] },
    'K',
    { text: 'L', calls: [call('13', 'summary', { text: 'M' })] },
    'N',
  ].map(compared)
  const definitions = [definition('summary', ...plugins.map(({ toolId }) => toolId))]
  const definitionOf = (maxIterations: number) => [
    { ...definitions[0]!, config: { ...definitions[0]!.config, maxIterations } },
  ]
  const { workflow, errors } = world(steps, { plugins, definitions: definitionOf(8) })
  workflow.subscribe(undefined, (update) => {
    if (update.type === 'message') list.apply(update.message)
  })
  const { id } = await workflow.createAgent('helper')
  for (const said of ['one', 'two', 'three', 'four', 'five']) await workflow.sendMsgToAgent(id, said)
  expect(errors).toEqual([])
  expect(rounds).toHaveLength(13)
  expect(rounds.map(({ faded }) => faded)).toEqual(rounds.map(({ unsent }) => unsent))
  expect(rounds.filter(({ unsent }) => unsent.length > 0).length).toBeGreaterThan(8)
})

const names = (messages: readonly AgentInstanceMessage[]): string[] =>
  messages.map(({ role, content, metadata }) => `${role} ${role === 'tool' ? metadata?.callId : content}`)

function isSent({ role, content, metadata }: AgentInstanceMessage, { messages }: ModelRequest): boolean {
  const blocks = messages.flatMap((message) => message.content)
  const isSaid = blocks.some((block) => block.type === 'text' && block.text === content)
  if (role !== 'tool') return isSaid
  // A summary is no result any more once it is the answer: it is what the agent said.
  return isSaid || blocks.some((block) => block.type === 'tool_result' && block.callId === metadata?.callId)
}

test('D044 the message of a call that waits for permission says so, until a person has answered', async () => {
  const kinds = (messages: readonly AgentInstanceMessage[]) =>
    messages.map((message) => (messageKinds.approval.matches as (message: AgentInstanceMessage) => boolean)(message))
  const confirmed = { ...definition('dig'), approval: { dig: { mode: 'confirm' } } } as const
  const { workflow } = world([[call('1', 'dig')], 'Done.'], {
    definitions: [confirmed],
    plugins: [withTool('dig', () => 'deep')],
  })
  const { id } = await workflow.createAgent('helper')
  const shown: string[] = []
  workflow.subscribe(id, (update) => {
    const [first] = (update.type === 'message' && update.message.metadata?.calls) || []
    if (first) shown.push(first.waitsFor ?? first.outcome ?? 'made')
  })
  await workflow.sendMsgToAgent(id, 'Dig')
  expect(kinds(await workflow.getMessages(id))).toEqual([false, true])
  await workflow.resolveApproval(id, '1', 'allow')
  expect(kinds(await workflow.getMessages(id))).toEqual([false, false, false, false])
  expect(shown).toEqual(['made', 'permission', 'made', 'done']) // it runs, and waits for nothing
})

test('an interrupted answer, and the message that rounds are used up, do not count as model calls: nothing fades by them', async () => {
  const list = createMessageList()
  const said = (id: string, more: Partial<AgentInstanceMessage>): AgentInstanceMessage => ({
    ...{ id, agentId: 'a', role: 'assistant', content: id },
    ...more,
  })
  list.apply(
    said('asks', { duration: 1, metadata: { round: 1, calls: [{ callId: 'c', toolId: 't', parameters: {} }] } }),
  )
  list.apply(said('r', { role: 'tool', duration: 1, metadata: { round: 1, isToolResult: true, callId: 'c' } }))
  list.apply(said('half', { duration: 0, metadata: { round: 1 } }))
  list.apply(said('stopped', { role: 'agent', metadata: { round: 1 } }))
  expect(list.ids.map((id) => list.isFaded(id))).toEqual([false, false, true, false])
  list.apply(said('answer', { metadata: { round: 2 } }))
  expect(list.ids.map((id) => list.isFaded(id))).toEqual([true, true, true, false, false])
  // It was a model call, whether or not its message is still there.
  list.remove('answer')
  expect(list.isFaded('r')).toBe(true)
})
