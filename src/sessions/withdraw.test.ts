import { expect, test } from 'vitest'
import { Log } from '../core/log.ts'
import { textOf } from '../core/turn.ts'
import { createAgent, createMemoryStore, createSession } from '../index.ts'
import { call, scripted, tool } from '../testing/index.ts'
import { withdraw } from './withdraw.ts'

/** A log whose next write waits until it is let go. */
async function slowLog() {
  let letGo = (): void => {}
  let gate = Promise.resolve()
  const log = new Log({ commit: () => gate })
  await log.accept({ clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Then.' }] })
  gate = new Promise((resolve) => void (letGo = resolve))
  const { id } = log.transcript.inbox[0]!
  const turn = { id: 't', runId: 'r', role: 'user', content: [], createdAt: 0 } as const
  return { log, letGo: () => letGo(), deliver: () => log.append({ type: 'turn', turn, consumed: [id] }) }
}

test('WB13 a message that is being taken back is delivered by no turn, and stays in the log until that is durable', async () => {
  const { log, letGo } = await slowLog()
  const taken = withdraw(log, 'k')
  expect([log.deliverable.length, log.transcript.inbox.length]).toEqual([0, 1])
  letGo()
  expect([await taken, log.transcript.inbox.length]).toEqual([true, 0])
  expect(await withdraw(log, 'k')).toBe(false)
  await log.accept({ clientKey: 'k', mode: 'followUp', content: [] })
  expect(log.transcript.inbox).toEqual([])
})

test('WB13 a message whose turn is being written is not taken back', async () => {
  const { log, letGo, deliver } = await slowLog()
  const delivered = deliver()
  const taken = withdraw(log, 'k')
  letGo()
  await delivered
  expect(await taken).toBe(false)
})

test('WB13 a message that is taken back while extensions are asked about the next turn is not delivered, and the model is not asked for it', async () => {
  const session = await createSession({ store: createMemoryStore() })
  const provider = scripted('One.', 'Two.')
  const agent = createAgent({ provider, session })
  agent.hooks.hook('turn:after', async () => {
    await session.send({ clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Then.' }] })
  })
  const asked: boolean[] = []
  const taken: boolean[] = []
  agent.hooks.hook('turn:next', async ({ stop }) => {
    asked.push(stop)
    taken.push(await session.takeBack('k'))
  })
  const { text } = await agent.run({ prompt: 'Go.' })
  // The handlers are asked again: without the message, the run ends.
  expect({ text, asked, taken, requests: provider.requests.length }).toEqual({
    text: 'One.',
    asked: [false, true],
    taken: [true, false],
    requests: 1,
  })
  expect(session.turns.map((turn) => textOf(turn))).toEqual(['Go.', 'One.'])
  await agent.destroy()
})

test('a call that was skipped because of a message is answered as skipped even if the message is taken back before', async () => {
  const session = await createSession({ store: createMemoryStore() })
  const look = tool('look', () => 'seen', { isConcurrencySafe: true })
  const provider = scripted([call('a', 'look'), call('b', 'look')], 'Done.')
  const agent = createAgent({ provider, session, tools: { look }, behavior: { maxConcurrentTools: 1 } })
  const gated: string[] = []
  agent.hooks.hook('tool:gate', async ({ callId }) => {
    gated.push(callId)
    await session.send({ clientKey: 'k', mode: 'steer', content: [{ type: 'text', text: 'Wait.' }] })
  })
  let taken: Promise<boolean> | undefined
  session.log.subscribe((entry) => {
    if (entry.type === 'call_result' && entry.callId === 'a') taken = session.takeBack('k')
  })
  await agent.run({ prompt: 'Go.' })
  const results = session.turns.flatMap(({ content }) => content.filter((block) => block.type === 'tool_result'))
  const skipped = 'Skipped: the user sent a new message'
  expect([await taken, gated, results.map(({ output }) => output)]).toEqual([true, ['a'], [skipped, skipped]])
  await agent.destroy()
})
