import { describe, expect, test } from 'vitest'
import { assembleAgent } from '../core/agent.ts'
import type { InteractionRequest, InteractionResponse } from '../core/interaction.ts'
import type { ToolDef } from '../core/tool.ts'
import { createAgent } from '../create-agent.ts'
import { call, scripted, texts } from '../testing/index.ts'
import { askUser, createAskUserTool } from './ask-user.ts'
import { createPresentPlanTool, presentPlan } from './present-plan.ts'

/** What the model reads when it uses the tool and a person answers so. */
async function ask(tool: ToolDef, input: object, response?: InteractionResponse) {
  const requests: InteractionRequest[] = []
  const agent = assembleAgent({
    provider: scripted([call('q1', tool.spec.name, { ...input })], 'fin'),
    tools: { tool },
    ...(response && {
      interact: async (request: InteractionRequest) => {
        requests.push(request)
        return response
      },
    }),
  })
  await agent.run({ prompt: 'go' })
  return { text: texts(agent.turns)[2]!.replace('user: ←', ''), requests }
}

const accepted = (value: unknown): InteractionResponse => ({ status: 'accepted', value })
const question = { question: 'Which colour?' }
const choice = { ...question, options: [{ label: 'red', description: 'like fire' }, { label: 'blue' }] }

describe('ask_user', () => {
  test('a question goes to the person that the agent can ask, and the answer back to the model', async () => {
    const { text, requests } = await ask(askUser, question, accepted('green'))
    expect(text).toBe('The user answered: green')
    expect(requests).toEqual([{ kind: 'Ask', payload: { kind: 'Ask', prompt: 'Which colour?', questionId: 'q1' } }])
  })

  test('with options it is a choice', async () => {
    const { text, requests } = await ask(askUser, { ...choice, multiSelect: true }, accepted(['red', 'blue']))
    expect(text).toBe('The user answered: red, blue')
    expect(requests[0]).toMatchObject({
      kind: 'Select',
      payload: { prompt: 'Which colour?', options: choice.options, multiSelect: true, allowFreeform: true },
    })
    const { requests: strict } = await ask(askUser, { ...choice, allowFreeform: false }, accepted('red'))
    expect(strict[0]!.payload).toMatchObject({ multiSelect: false, allowFreeform: false })
  })

  test('options may be plain texts', async () => {
    const { requests } = await ask(askUser, { ...question, options: ['red'] }, accepted('red'))
    expect(requests[0]!.payload.options).toEqual([{ label: 'red' }])
  })

  test.each([
    [accepted({ label: 'red' }), 'The user answered: red'],
    [accepted({ any: 'thing' }), 'The user answered: {"any":"thing"}'],
    [accepted(7), 'The user answered: 7'],
    [accepted(' '), 'The user gave an empty answer. Go on with the assumption'],
    [accepted(null), 'The user gave an empty answer. Go on with the assumption'],
    [{ status: 'rejected', reason: 'not now' } as const, 'The user did not answer: not now. Go on with the assumption'],
    [{ status: 'timeout' } as const, 'The user did not answer in time. Go on with the assumption'],
    [undefined, 'There is no user to answer. Go on with the assumption that fits best, and say which one you made.'],
  ])('%j reads: %s', async (response, words) => {
    expect((await ask(askUser, question, response)).text.startsWith(words)).toBe(true)
  })

  test.each([
    [{ question: ' ' }, '"question" is empty; say what you want to know'],
    [{ ...question, options: ['a', {}] }, 'options[1] needs a "label", a short text to choose'],
    [{ ...question, options: Array.from({ length: 21 }, String) }, '21 options are too many; offer at most 20'],
  ])('%j is refused before a person is asked', async (input, error) => {
    const { text, requests } = await ask(askUser, input, accepted('x'))
    expect(text).toBe(`Validation error: ${error}`)
    expect(requests).toEqual([])
  })

  test('A149 an embedder answers himself, later, with a text or an object', async () => {
    const later = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(resolve, 10, value))
    const said = createAskUserTool({ onRequest: ({ question }) => later(`${question} Red.`) })
    expect((await ask(said, question)).text).toBe('Which colour? Red.')
    const chosen = createAskUserTool({ onRequest: ({ options }) => later({ chosen: options?.[0]?.label }) })
    expect((await ask(chosen, choice)).text).toBe('{"chosen":"red"}')
  })

  test('a run that is aborted does not wait for the answer', async () => {
    const provider = scripted([call('1', 'ask_user', question)])
    const agent = createAgent({
      provider,
      tools: { ask: createAskUserTool({ onRequest: () => new Promise(() => {}) }) },
    })
    const running = agent.run({ prompt: 'go' })
    setTimeout(() => agent.abort(), 20)
    await expect(running).rejects.toThrow()
    expect(texts(agent.turns).at(-1)).toContain('Aborted: ')
  })
})

describe('present_plan', () => {
  test('a plan is shown whole, and a yes is a yes', async () => {
    const { text, requests } = await ask(presentPlan, { plan: '1. dig' }, accepted(true))
    expect(text).toBe('The user approved the plan. Go ahead.')
    expect(requests).toEqual([
      {
        kind: 'Confirm',
        payload: {
          kind: 'Confirm',
          prompt: 'Go ahead with this plan?\n\n1. dig',
          plan: '1. dig',
          questionId: 'q1',
        },
      },
    ])
  })

  test.each([
    [accepted(false), 'The plan is not approved: do not carry it out. Ask what should be different'],
    [accepted('dig deeper'), 'The user answered: dig deeper'],
    [
      { status: 'rejected', reason: 'too deep' } as const,
      'The plan is not approved: do not carry it out. The user says: too deep',
    ],
    [{ status: 'timeout' } as const, 'The user did not answer in time. The plan is not approved: do not carry it out.'],
    [undefined, 'The plan could not be shown: there is no user to approve it.'],
  ])('%j reads: %s', async (response, words) => {
    expect((await ask(presentPlan, { plan: 'dig' }, response)).text.startsWith(words)).toBe(true)
  })

  test('an empty plan is refused', async () => {
    expect((await ask(presentPlan, { plan: '\n' })).text).toBe(
      'Validation error: "plan" is empty; write down the steps',
    )
  })

  test('A149 an embedder answers himself', async () => {
    const mine = createPresentPlanTool({ onRequest: async ({ plan }) => ({ plan, approved: true }) })
    expect((await ask(mine, { plan: 'dig' })).text).toBe('{"plan":"dig","approved":true}')
  })
})

test.each([askUser, presentPlan])('A127 $spec.name asks, alone, for as long as it takes', (tool) => {
  expect(tool).toMatchObject({ isConcurrencySafe: false, effects: ['ask'], timeoutMs: 0, replay: 'keyed' })
  expect(tool.deriveApprovalKey?.({} as never)).toBe(tool.spec.name)
})
