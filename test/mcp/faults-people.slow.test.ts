import { pathToFileURL } from 'node:url'
import { createProcessContext } from 'libero'
import { call } from 'libero/testing'
import { expect, test } from 'vitest'
import { temporary } from '../temporary.ts'
import { agentWith, eventually, faultServer, within } from './fixtures/fault-kit.ts'

const ask = (properties: object, message = 'Who are you?'): string =>
  `ask ${JSON.stringify({ message, requestedSchema: { type: 'object', properties, required: Object.keys(properties) } })}`

interface Asked {
  readonly kind: string
  readonly payload: { readonly prompt?: string; readonly options?: readonly string[] }
}

/** An agent whose person gives these answers, and the questions. */
function asking(answer: (asked: Asked) => unknown) {
  const prompts: Asked[] = []
  const person = (prompt: Asked): unknown => {
    prompts.push(prompt)
    return answer(prompt)
  }
  return { prompts, authority: { mode: 'yolo', interactors: [person as never] } as const }
}

const form = {
  name: { type: 'string', title: 'Name' },
  age: { type: 'integer', default: 7 },
  color: { type: 'string', enum: ['red', 'green'] },
  sure: { type: 'boolean' },
  tags: { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] } },
}

test.each(['legacy', 'modern'])('a server asks a person, field by field, and gets the answers (%s)', async (era) => {
  const server = await faultServer([era])
  const { prompts, authority } = asking(({ payload: { prompt = '' } }) => {
    if (prompt.includes('Name')) return 'Ada'
    if (prompt.includes('age')) return ''
    if (prompt.includes('color')) return 'green'
    return prompt.includes('sure') ? 'yes' : 'a, c'
  })
  const { results } = agentWith([server.config], { authority })
  const [answer] = await results(['mcp_f_echo', ask(form)])
  expect(JSON.parse(answer!)).toMatchObject({
    action: 'accept',
    content: { name: 'Ada', age: 7, color: 'green', sure: true, tags: ['a', 'c'] },
  })
  expect(prompts.map(({ kind }) => kind)).toEqual(['Ask', 'Ask', 'Select', 'Select', 'Ask'])
  expect(prompts[0]?.payload.prompt).toContain('The MCP server "f" asks: Who are you?')
})

test('a decline or a cancel is reported to the server', async () => {
  const server = await faultServer([])
  const { authority } = asking(() => ({ status: 'rejected', reason: 'no' }))
  const { results } = agentWith([server.config], { authority })
  expect(JSON.parse((await results(['mcp_f_echo', ask(form)]))[0]!)).toEqual({ action: 'decline' })
})

test('with no person to ask the server is told that it cannot ask', async () => {
  const server = await faultServer([])
  const { results } = agentWith([server.config])
  const [answer, next] = await within(results(['mcp_f_echo', ask(form)], ['mcp_f_echo', 'a']))
  expect(answer).toMatch(/cancel|-32601/)
  expect(next).toBe('echo a')
})

test('with no person to answer the question is cancelled', async () => {
  const server = await faultServer([])
  const { results } = agentWith([server.config], { authority: { mode: 'yolo', interactors: [] } })
  const [answer, next] = await within(results(['mcp_f_echo', ask(form)], ['mcp_f_echo', 'a']))
  expect(answer).toMatch(/cancel|decline/)
  expect(next).toBe('echo a')
})

test.each(['legacy', 'modern'])('a person may take longer than the limit on silence (%s)', async (era) => {
  const server = await faultServer([era], { callTimeout: 1000, longestCall: 1500 })
  const { authority } = asking(async () => {
    await new Promise((resolve) => setTimeout(resolve, 2500))
    return 'Ada'
  })
  const { results } = agentWith([server.config], { authority })
  const [answer, silent] = await within(
    results(['mcp_f_echo', ask({ name: { type: 'string' } })], ['mcp_f_echo', 'silent']),
  )
  expect(answer).toContain('Ada')
  expect(silent).toContain('timed out')
})

test('aborting the run during a question ends both', async () => {
  const server = await faultServer([])
  const { prompts, authority } = asking(() => new Promise(() => {}))
  const { agent, provider } = agentWith([server.config], { authority })
  provider.push([call('c', 'mcp_f_echo', { text: ask({ name: { type: 'string' } }) })])
  const running = agent.run({ prompt: 'go' }).catch(() => 'ended')
  await eventually(() => expect(prompts).toHaveLength(1))
  agent.abort()
  expect(await within(running)).toBe('ended')
  await eventually(async () => expect((await server.ledger()).join()).toMatch(/cancelled|answer/))
})

test.each(['legacy', 'modern'])(
  'S14 a form that asks for a key is not shown, and the server hears why (%s)',
  async (era) => {
    const server = await faultServer([era])
    const { prompts, authority } = asking(() => 'sk-canary')
    const { results } = agentWith([server.config], { authority })
    const [answer, next] = await results(['mcp_f_echo', ask({ apiKey: { type: 'string' } })], ['mcp_f_echo', 'a'])
    expect(answer?.replaceAll('\\', '')).toContain('because it asks for a secret ("api key")')
    expect(next).toBe('echo a')
    expect(prompts).toEqual([])
  },
)

test('a page that a server wants opened is shown with its host', async () => {
  const server = await faultServer([])
  const { prompts, authority } = asking(() => true)
  const { results } = agentWith([server.config], { authority })
  const params = { mode: 'url', message: 'Sign in', url: 'https://pay.example/x', elicitationId: 'e1' }
  const [answer] = await results(['mcp_f_echo', `ask ${JSON.stringify(params)}`])
  expect(JSON.parse(answer!)).toEqual({ action: 'accept' })
  expect(prompts[0]).toMatchObject({ kind: 'Confirm' })
  expect(prompts[0]?.payload.prompt).toContain('open a page at pay.example')
})

test('a server is told the folder where tools run', async () => {
  const server = await faultServer([])
  const cwd = await temporary('mcp-roots-')
  const { results } = agentWith([server.config], { execution: createProcessContext({ cwd }) })
  const [answer] = await results(['mcp_f_echo', 'roots'])
  expect(JSON.parse(answer!)).toEqual({ roots: [{ uri: pathToFileURL(cwd).href, name: 'workspace' }] })
})
