import { expect, onTestFinished, test, vi } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { memoryExecution } from '../../src/testing/memory-execution.ts'
import { call, type Step, scripted, tool } from '../../src/testing/scripted.ts'
import type { WorkflowUpdate } from '../../src/workflow/listeners.ts'
import { createWorkflow, type WorkflowOptions } from '../../src/workflow/workflow.ts'
import { definition, withTool } from './kit.ts'
import { endless } from './two-processes-kit.ts'

const key = { answerSecret: new Uint8Array(32).fill(7) }

/** One of several processes over a store, as far as that goes: an own workflow, with an own model. */
function life(store: SessionStore, steps: readonly Step[] = [], options: Partial<WorkflowOptions> = {}) {
  const provider = scripted(...steps)
  const errors: Error[] = []
  const workflow = createWorkflow({
    ...{ store, provider, definitions: [definition('ask-question')], execution: memoryExecution() },
    onError: (error) => void errors.push(error),
    ...options,
  })
  onTestFinished(() => workflow.close())
  return { workflow, provider, errors }
}

test('E09 any process takes over an agent of a dead one below 15 s, also while the owner of the schedules lives', async () => {
  const clock = fakeClock(0)
  const store = createMemoryStore({ clock })
  const owner = life(store, [], { clock })
  await owner.workflow.start()
  const { asked, step } = endless()
  const dead = life(store, [step], { clock: fakeClock(0) }) // its time stands still: it renews nothing
  const { id } = await dead.workflow.createAgent('helper')
  void dead.workflow.sendMsgToAgent(id, 'Long work').catch(() => {})
  await asked
  await owner.workflow.close()
  const other = life(store, ['Done.'], { clock })
  const owning = life(store, ['Done.'], { clock })
  await owning.workflow.start() // it owns the schedules now, and both look for agents
  await other.workflow.start()
  const requests = (): number => other.provider.requests.length + owning.provider.requests.length
  for (let second = 0; second < 14; second++) await clock.advance(1000)
  await vi.waitFor(async () => expect((await other.workflow.getStatus(id)).state).toBe('completed'))
  expect(requests()).toBe(1)
  expect([...other.errors, ...owning.errors]).toEqual([])
})

test('E09 subscribe hears what others write, of one agent and of all: new agents, messages and states, each once', async () => {
  const clock = fakeClock(0)
  const store = createMemoryStore({ clock })
  const working = life(store, ['Old.', 'First.', 'Second.'], { clock })
  const old = await working.workflow.createAgent('helper', { id: 'agent-old' })
  await working.workflow.sendMsgToAgent(old.id, 'From before')

  await clock.advance(3_600_000)
  const hearing = life(store, [], { clock, maxIdleAgents: 0 })
  const heard: Record<'all' | 'one', string[]> = { all: [], one: [] }
  const note = (name: 'all' | 'one') => (update: WorkflowUpdate) => void heard[name].push(told(update))
  const stopAll = hearing.workflow.subscribe(undefined, note('all'))
  const stopOne = hearing.workflow.subscribe('agent-new', note('one')) // it is not there yet
  await clock.advance(1)
  await working.workflow.createAgent('helper', { id: 'agent-new' })
  await clock.advance(3000)
  await working.workflow.sendMsgToAgent('agent-new', 'Hello')
  await clock.advance(3000)
  await working.workflow.sendMsgToAgent(old.id, 'Again')
  await clock.advance(3000)
  await vi.waitFor(() => expect(heard.all).toContain('agent-old completed'))
  const fresh = [
    'agent-new made',
    'agent-new working',
    'agent-new user: Hello',
    'agent-new assistant: First.',
    'agent-new completed',
  ]
  expect(heard.one).toEqual(fresh)
  expect(heard.all).toEqual([
    ...fresh,
    ...['agent-old working', 'agent-old user: Again', 'agent-old assistant: Second.', 'agent-old completed'],
  ])

  stopAll()
  stopOne()
  await clock.advance(5000)
  expect([clock.pending, hearing.provider.requests, hearing.errors]).toEqual([0, [], []])
})

const told = (update: WorkflowUpdate): string => {
  const { agentId } = update
  if (update.type === 'message') return `${agentId} ${update.message.role}: ${update.message.content}`
  if (update.type === 'status') return `${agentId} ${update.status.state}`
  return `${agentId} ${update.type === 'agent' ? 'made' : 'removed'}`
}

test('E09 follow hears the entries that another process writes', async () => {
  const store = createMemoryStore()
  const working = life(store, ['Hi.'])
  const { id } = await working.workflow.createAgent('helper')
  const hearing = life(store)
  const entries: string[] = []
  const stop = await hearing.workflow.follow(id, (event) => void (event.durable && entries.push(event.entry.type)))
  await working.workflow.sendMsgToAgent(id, 'Hello')
  await vi.waitFor(() => expect(entries.at(-1)).toBe('run_ended'))
  expect(entries.filter((type) => type === 'turn')).toHaveLength(2)
  stop()
  await working.workflow.cancelAgent(id)
  expect(hearing.errors).toEqual([])
})

test('E09 a process that only records runs no model: a message, an answer and a permission are left to a worker', async () => {
  const store = createMemoryStore()
  const plugins = [withTool('paint', () => 'painted')]
  const asking = definition('ask-question', { toolId: 'paint', approval: { mode: 'confirm' } })
  const common = { plugins, definitions: [asking], authority: key }
  const woken: string[] = []
  const front = life(store, [], {
    ...{ ...common, work: 'elsewhere' },
    onWork: (agentId, tenant) => void woken.push(`${agentId} ${tenant}`),
  })
  const steps = [[call('q', 'ask-question', { question: 'Which?' })], [call('p', 'paint')], 'It is red.']
  const worker = life(store, steps, { ...common, work: 'elsewhere' })
  const { id } = await front.workflow.createAgent('helper', { tenant: 'acme' })
  await front.workflow.start()

  expect((await front.workflow.sendMsgToAgent(id, 'Paint.', { clientKey: 'once' })).state).toBe('submitted')
  expect((await front.workflow.sendMsgToAgent(id, 'Paint.', { clientKey: 'once' })).state).toBe('submitted')
  expect((await worker.workflow.work(id)).state).toBe('input-required')
  const [question] = await front.workflow.pending(id)
  expect(question).toMatchObject({ callId: 'q', isQuestion: true })
  expect((await front.workflow.answerQuestion(id, question!.approvalId, 'red')).state).toBe('submitted')
  expect((await worker.workflow.work(id)).state).toBe('input-required')
  const [permission] = await front.workflow.pending(id)
  expect((await front.workflow.resolveApproval(id, permission!.approvalId, 'allow')).state).toBe('submitted')
  expect((await worker.workflow.work(id)).message?.content).toBe('It is red.')
  expect((await worker.workflow.work(id)).state).toBe('completed') // nothing is left
  expect(woken).toEqual(Array.from({ length: 4 }, () => `${id} acme`))
  expect([front.provider.requests.length, worker.provider.requests.length]).toEqual([0, 3])
  const messages = (await front.workflow.getMessages(id)).filter(({ role }) => role === 'user')
  expect(messages.map(({ content }) => content)).toEqual(['Paint.'])
  expect([...front.errors, ...worker.errors]).toEqual([])
})

test('E09 a message that is recorded in place of an answer leaves the question behind', async () => {
  const store = createMemoryStore()
  const front = life(store, [], { work: 'elsewhere' })
  const worker = life(store, [[call('q', 'ask-question', { question: 'Which?' })], 'Then not.'])
  const { id } = await front.workflow.createAgent('helper')
  await front.workflow.sendMsgToAgent(id, 'Paint.')
  expect((await worker.workflow.work(id)).state).toBe('input-required')
  await front.workflow.sendMsgToAgent(id, 'Forget it.')
  expect((await worker.workflow.work(id)).message?.content).toBe('Then not.')
  expect(await front.workflow.pending(id)).toEqual([])
})

test('E09 work of an agent that another process works on resolves at once, and that process takes the message', async () => {
  const store = createMemoryStore()
  const go = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const slow = tool('look', async () => {
    asked.resolve()
    await go.promise
    return 'seen'
  })
  const plugins = [withTool('look', slow.execute as () => string)]
  const one = life(store, [[call('1', 'look')], 'Both.'], { plugins, definitions: [definition('look')] })
  const two = life(store, [], { plugins, definitions: [definition('look')], work: 'elsewhere' })
  const { id } = await one.workflow.createAgent('helper')
  const working = one.workflow.sendMsgToAgent(id, 'Look')
  await asked.promise
  await two.workflow.sendMsgToAgent(id, 'And tell')
  expect((await two.workflow.work(id)).state).toBe('submitted')
  go.resolve()
  expect((await working).message?.content).toBe('Both.')
  expect(two.provider.requests).toEqual([])
})

test('a failing onWork loses nothing, and options that contradict each other are refused', async () => {
  const store = createMemoryStore()
  const onWork = (): void => {
    throw new Error('no queue')
  }
  const front = life(store, [], { work: 'elsewhere', onWork })
  const { id } = await front.workflow.createAgent('helper')
  expect((await front.workflow.sendMsgToAgent(id, 'Hello')).state).toBe('submitted')
  expect(front.errors.map(({ message }) => message)).toEqual([
    `onWork failed for agent ${id}; what was recorded waits in the store`,
  ])
  const worker = life(store, ['Hi.'])
  expect((await worker.workflow.work(id)).message?.content).toBe('Hi.')
  expect(() => life(store, [], { onWork })).toThrow(`option "onWork" is for work: 'elsewhere'`)
  await expect(front.workflow.createAgent('helper', { volatile: true })).rejects.toThrow('volatile')
  await expect(front.workflow.sendMsgToAgent('agent-none', 'Hello')).rejects.toThrow('there is no agent "agent-none"')
  await front.workflow.closeAgent(id)
  await expect(front.workflow.sendMsgToAgent(id, 'Hello')).rejects.toThrow(`agent "${id}" is closed`)
  await expect(worker.workflow.work('agent-none')).rejects.toThrow('there is no agent "agent-none"')
})

test('E09 a due time is a message and a wake where others work: the owner of the schedules runs no model', async () => {
  const clock = fakeClock(0)
  const store = createMemoryStore({ clock })
  const woken: string[] = []
  const owner = life(store, [], { clock, work: 'elsewhere', onWork: (agentId) => void woken.push(agentId) })
  const { id } = await owner.workflow.createAgent('helper')
  await owner.workflow.schedules.add({ agentId: id, message: 'Water', when: { type: 'at', at: inSeconds(60) } })
  await owner.workflow.start()
  for (let tries = 0; tries < 7; tries++) await clock.advance(10_000)
  await vi.waitFor(() => expect(woken).toEqual([id]))
  const worker = life(store, ['Done.'], { clock, work: 'elsewhere' })
  expect((await worker.workflow.work(id)).message?.content).toBe('Done.')
  expect([owner.provider.requests, owner.errors]).toEqual([[], []])
})

const inSeconds = (seconds: number): string => new Date(seconds * 1000).toISOString()
