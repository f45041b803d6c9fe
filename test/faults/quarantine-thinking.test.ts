import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Repair } from '../../src/core/provider.ts'
import type { Session, SessionStore } from '../../src/core/store.ts'
import {
  type Agent,
  AgentProviderError,
  createAgent,
  createMemoryStore,
  createSession,
  loadSession,
} from '../../src/index.ts'
import { anthropic } from '../../src/providers/index.ts'
import { tool } from '../../src/testing/index.ts'
import { speak } from '../oracles/streams.ts'
import { strictAnthropic } from '../strict/anthropic.ts'
import { type StrictServer, startStrict } from '../strict/strict-server.ts'
import { counterparts } from './poisons/counterparts.ts'
import { assistant, called, hi, result, storeWith, text } from './poisons/kit.ts'

describe('FP-34 thinking that a service takes back no longer', () => {
  let server: StrictServer
  let store: SessionStore
  let repairs: Repair[]
  beforeEach(async () => {
    server = await startStrict(strictAnthropic({ bindsPrefix: true }))
    store = createMemoryStore()
    repairs = []
  })
  afterEach(() => server.close())

  const talk = (session: Session): Agent =>
    createAgent({
      provider: anthropic({ apiKey: 'k', baseURL: server.url, prices: false, retry: false }),
      session,
      tools: { look: tool('look', () => 'seen') },
      hooks: { repair: (repair) => void repairs.push(repair) },
    })
  const refusals = () => server.requests.flatMap(({ refusal }) => refusal ?? [])

  /** A loop of calls with thinking, whose first words are then changed for the model. */
  async function thinkThenRewrite(): Promise<Agent> {
    const agent = talk(await createSession({ store, id: 's' }))
    server.script.push({ thinking: 'Hm.', calls: [{ id: 'c', name: 'look' }] }, { thinking: 'Aha.', text: 'Done.' })
    await agent.run({ prompt: 'Look at this.', thinking: 'low' })
    expect(refusals()).toEqual([])
    const session = await loadSession(store, 's')
    const [first] = session.turns
    await session.open()
    await session.log.append({
      type: 'context_edit',
      turnId: first!.id,
      block: 0,
      replacement: { type: 'text', text: 'Look.' },
    })
    await session.release()
    return agent
  }

  test('is left out of the turns that are over, once, and the conversation goes on', async () => {
    await thinkThenRewrite()
    const before = JSON.stringify(await store.read('s'))
    const agent = talk(await loadSession(store, 's'))
    expect((await agent.run({ prompt: 'And?', thinking: 'low' })).text).toBe('ok')
    expect(refusals()).toEqual([expect.stringContaining('messages.1.content.0: `thinking` blocks cannot be modified')])
    expect(repairs).toEqual([expect.objectContaining({ rule: 'rejected-thinking' })])
    expect(server.requests.at(-1)!.text).not.toContain('Hm.')
    expect(JSON.stringify(await store.read('s')).startsWith(before.slice(0, -1))).toBe(true)

    server.script.push({ thinking: 'Oh.', calls: [{ id: 'd', name: 'look' }] }, { text: 'Done.' })
    expect((await agent.run({ prompt: 'Once more.', thinking: 'low' })).text).toBe('Done.')
    expect(server.requests.at(-1)!.text).toContain('Oh.') // that of the turn under way is kept
    expect(refusals()).toHaveLength(1)
    expect(repairs).toHaveLength(1)
  })

  test('is stored byte for byte, whatever a service says', async () => {
    await thinkThenRewrite()
    const [, said] = (await loadSession(store, 's')).turns
    await talk(await loadSession(store, 's')).run({ prompt: 'And?' })
    expect((await loadSession(store, 's')).turns[1]).toEqual(said)
    expect(said?.content[0]).toMatchObject({ type: 'thinking', text: 'Hm.', signature: expect.any(String) })
  })

  test('ends as the error that it is when leaving it out does not help', async () => {
    await thinkThenRewrite()
    server.requests.splice(0)
    server.mood = 'messages.1.content.0: Invalid `signature` in `thinking` block'
    const error = await talk(await loadSession(store, 's'))
      .run({ prompt: 'And?' })
      .catch((error: unknown) => error)
    expect(error).toBeInstanceOf(AgentProviderError)
    expect((error as Error).message).toContain('Invalid `signature`')
    expect(repairs.filter(({ rule }) => rule === 'rejected-thinking')).toHaveLength(1)
    expect(server.requests.length).toBeLessThanOrEqual(8)
    server.mood = undefined
    expect((await talk(await loadSession(store, 's')).run({ prompt: 'And now?' })).text).toBe('ok')
  })
})

test('a model with thinking budgets goes on with calls that were made without thinking', async () => {
  const { dialect, provider } = counterparts.find(({ name }) => name.includes('budgets'))!
  const server = await startStrict(dialect())
  const store = await storeWith([hi, assistant(called('c')), { role: 'user', content: [result('c'), text('And?')] }])
  const agent = createAgent({ provider: provider({ baseURL: server.url }), session: await loadSession(store, 's') })
  expect((await agent.run({ prompt: 'Go on.', thinking: 'low' })).text).toBe('ok')
  expect((await agent.run({ prompt: 'Go on.', thinking: 'low' })).text).toBe('ok')
  await server.close()
})

test('a model that may not begin to think among its calls is asked without, and the conversation stays whole', async () => {
  const says = 'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.'
  const bodies: { thinking?: unknown; messages: unknown[] }[] = []
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    const body = JSON.parse(new TextDecoder().decode(init?.body as Uint8Array)) as (typeof bodies)[number]
    bodies.push(body)
    if (bodies.length === 1)
      return new Response(speak('anthropic-messages', { calls: [{ id: 'c', name: 'noop', input: {} }] }))
    if (body.thinking === undefined) return new Response(speak('anthropic-messages', { text: 'done' }))
    return Response.json({ type: 'error', error: { type: 'invalid_request_error', message: says } }, { status: 400 })
  }
  const provider = anthropic({ apiKey: 'key', fetch: fetch as typeof globalThis.fetch, prices: false })
  const agent = createAgent({ provider, tools: { noop: tool('noop', () => 'ok') } })
  const rules: string[] = []
  agent.hooks.hook('repair', ({ rule }) => void rules.push(rule))
  const { text } = await agent.run({ prompt: 'go', model: 'claude-sonnet-4-5', thinking: 'low' })
  expect({ text, rules, requests: bodies.length }).toEqual({ text: 'done', rules: ['thinking-off'], requests: 3 })
  expect(bodies[2]!.messages).toEqual(bodies[1]!.messages)
})
