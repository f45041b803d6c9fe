import { describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { createAgent, createMemoryStore, createSession, loadSession } from '../../index.ts'
import { call, scripted, texts } from '../../testing/index.ts'
import { marksOf } from '../tool-marks.ts'
import { askQuestionPlugin } from './ask-question.ts'

const services = { agentId: 'a', clock: systemClock }
const [ask] = askQuestionPlugin.tools!({ config: {}, entry: { id: '1', toolId: 'ask-question' }, services })
const tools = { ask: ask! }
const options = [{ label: 'red', description: 'like fire' }, { label: 'Dark Blue' }]
const question = { question: 'Which colour?', options }

/** Asks in one process; another one answers and goes on. */
async function asked(input: object, answer: string) {
  const store = createMemoryStore()
  const first = scripted([call('q1', 'ask-question', { ...input })])
  const session = await createSession({ store, id: 's' })
  const stats = await createAgent({ provider: first, session, tools }).run({ prompt: 'go' })
  const { pending } = await loadSession(store, 's')
  await (await loadSession(store, 's')).answer('q1', { content: answer })
  const provider = scripted('fin')
  const agent = createAgent({ provider, session: await loadSession(store, 's'), tools })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  await agent.run()
  const told = texts(provider.requests[0]!.messages).at(-1)!.replace('user: ←', '')
  return { stats, pending, told, details: details as Record<string, unknown>, requests: provider.requests.length }
}

describe('a question', () => {
  test('D032 leaves the run open with its options; after a restart the answer is the result of the same call', async () => {
    const { stats, pending, told, details, requests } = await asked(question, 'red')
    expect(stats).toMatchObject({ status: 'suspended', stopReason: 'question' })
    expect(pending).toMatchObject([{ callId: 'q1', name: 'ask-question', input: question }])
    expect(told).toBe('The user chose: red')
    expect(requests).toBe(1)
    expect(marksOf(details)).toEqual({ duration: 3 })
    expect(details).toMatchObject({
      questionId: 'q1',
      question: 'Which colour?',
      inputType: 'single-select',
      options,
      answer: { text: 'red', selected: ['red'] },
    })
  })

  test('without options asks for text', async () => {
    const { told, details } = await asked({ question: 'Your name?' }, ' {"selected":["Ann"]} ')
    expect(told).toBe('The user answered: {"selected":["Ann"]}')
    expect(details.inputType).toBe('text')
  })

  test.each([
    [{ question: ' ' }, '"question" is empty'],
    [{ question: 'x', allowFreeform: false }, 'there are no options and no free answer is allowed'],
    [{ question: 'x', options: ['a', ' A '] }, 'options[1] has the label of another one'],
    [{ question: 'x', options: [{}] }, 'options[0]'],
    [
      { question: 'x', inputType: 'slider', options },
      '"inputType" must be one of single-select, multi-select, text, got "slider"',
    ],
  ])('%j is refused before a person is asked', async (input, error) => {
    const agent = createAgent({ provider: scripted([call('1', 'ask-question', input)], 'fin'), tools })
    expect((await agent.run({ prompt: 'go' })).status).toBe('completed')
    expect(texts(agent.turns)[2]).toMatch(/^user: ←Validation error: /)
    expect(texts(agent.turns)[2]).toContain(error)
  })

  test('declares the effect ask, may be repeated, and has no time limit', () => {
    expect(ask).toMatchObject({ replay: 'keyed', effects: ['ask'], timeoutMs: 0, isConcurrencySafe: false })
  })
})
