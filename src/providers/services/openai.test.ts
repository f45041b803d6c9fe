import { describe, expect, onTestFinished, test } from 'vitest'
import { loopbackFetch, startAuthorizationServer } from '../../../test/authorization-server.ts'
import { type Answers, fakeService } from '../../../test/oracles/loopback.ts'
import { ask, secretIn } from '../../../test/oracles/services.ts'
import { speak } from '../../../test/oracles/streams.ts'
import { AgentAuthError } from '../../core/errors.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { createAgent } from '../../create-agent.ts'
import { type OpenAIOptions, openai } from './openai.ts'

const hello = speak('openai-responses', { text: 'hello' })

describe('with a key of the platform', () => {
  test('asks the platform, with these headers and no others', async () => {
    const { url, headers, body } = await sent({ apiKey: 'key', organization: 'org-1', project: 'proj-1' })
    expect(url).toBe('https://api.openai.com/v1/responses')
    expect(headers).toEqual({
      accept: 'text/event-stream',
      authorization: 'Bearer key',
      'content-type': 'application/json',
      'openai-organization': 'org-1',
      'openai-project': 'proj-1',
    })
    expect(body).toEqual({
      model: 'gpt-5.5',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'none' },
      max_output_tokens: 1000,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    })
  })
})

describe('with a login of a ChatGPT plan', () => {
  test('asks the backend of Codex for the account of the login', async () => {
    const options = { access: 'token', accountId: 'acc-1' }
    const { url, headers, body } = await sent(options, { system: 'Be brief.', sessionId: 's1' })
    expect(url).toBe('https://chatgpt.com/backend-api/codex/responses')
    expect(headers).toEqual({
      accept: 'text/event-stream',
      authorization: 'Bearer token',
      'chatgpt-account-id': 'acc-1',
      'content-type': 'application/json',
      'openai-beta': 'responses=experimental',
      originator: 'libero',
      session_id: 's1',
    })
    expect(body).toMatchObject({ instructions: 'Be brief.', store: false, prompt_cache_key: 's1' })
    expect(body).not.toHaveProperty('max_output_tokens')
  })

  test('always sends instructions, even when there are none, and never a limit of ours', async () => {
    const { body } = await sent({ access: 'token', extraBodyParams: { max_output_tokens: 5 } })
    expect(body.instructions).toBe('')
    expect(body).not.toHaveProperty('max_output_tokens')
  })

  test('finds the account in the token itself', async () => {
    const payload = { 'https://api.openai.com/auth': { chatgpt_account_id: 'acc-2' } }
    const access = `head.${Buffer.from(JSON.stringify(payload)).toString('base64url')}.tail`
    const { headers } = await sent({ access })
    expect(headers['chatgpt-account-id']).toBe('acc-2')
  })

  test('leaves out a session whose name no header takes', async () => {
    const { headers } = await sent({ access: 'token' }, { sessionId: 'sitzung über\n alles' })
    expect(headers).not.toHaveProperty('session_id')
  })

  test('asks another address where there is one', async () => {
    const { url } = await sent({ access: 'token', baseURL: 'https://proxy.example/codex/' })
    expect(url).toBe('https://proxy.example/codex/responses')
  })
})

describe('a login that has ended', () => {
  test('is renewed after one 401, which the run does not notice but for oauth:refresh', async () => {
    const { server, provider, asked, tokens } = await loggedIn()
    const heard: unknown[] = []
    const agent = createAgent({ provider, hooks: { 'oauth:refresh': (told) => void heard.push(told) } })
    const stats = await agent.run({ prompt: 'hi' })
    expect(stats.text).toBe('hello')
    expect(server.renewals).toBe(1)
    expect(asked).toHaveLength(2)
    expect(secretIn(asked[0]!.headers)).toEqual([tokens.access])
    expect(server.accepts(secretIn(asked[1]!.headers)[0]!)).toBe(true)
    expect(heard).toEqual([{ turnId: expect.any(String), provider: 'openai', expires: expect.any(Number) }])
    expect(JSON.stringify(heard)).not.toContain(tokens.refresh)
  })

  test('is renewed before it is used when it is known to have ended', async () => {
    const { server, provider, asked } = await loggedIn({ expires: Date.now() - 1 })
    const { events } = await ask(provider)
    expect(events.filter(({ type }) => type === 'oauth_refresh')).toHaveLength(1)
    expect([server.renewals, asked.length]).toEqual([1, 1])
  })

  test('is renewed where Codex renews its own, through the fetch of the caller', async () => {
    const { fetch, asked } = fakeService(({ url }) =>
      url.endsWith('/oauth/token')
        ? { status: 200, body: JSON.stringify({ access_token: 'new', token_type: 'Bearer', expires_in: 3600 }) }
        : hello,
    )
    await ask(openai({ access: 'old', refresh: 'again', expires: 1, fetch, prices: false }))
    expect(asked.map(({ url }) => url)).toEqual([
      'https://auth.openai.com/oauth/token',
      'https://chatgpt.com/backend-api/codex/responses',
    ])
    expect(asked[0]!.text).toContain('refresh_token=again')
    expect(secretIn(asked[1]!.headers)).toEqual(['new'])
  })

  test('is renewed once for two requests at the same time', async () => {
    const { server, provider } = await loggedIn()
    const answers = await Promise.all([ask(provider), ask(provider)])
    expect(answers.map(({ reply }) => reply.content)).toMatchObject([[{ text: 'hello' }], [{ text: 'hello' }]])
    expect(server.renewals).toBe(1)
  })

  test('hands the new tokens to the host', async () => {
    const kept: string[] = []
    const { server, provider } = await loggedIn({ onRefresh: ({ access }) => void kept.push(access) })
    await ask(provider)
    expect(kept.map((access) => server.accepts(access))).toEqual([true])
  })

  test('and is refused with new tokens too fails the run after one renewal', async () => {
    const no = { status: 401, body: '{"detail":"no"}' }
    const { server, provider, asked } = await loggedIn({}, no, no)
    const error = await createAgent({ provider })
      .run({ prompt: 'hi' })
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(AgentAuthError)
    expect([server.renewals, asked.length]).toEqual([1, 2])
  })

  test('that cannot be renewed says that the person must log in again', async () => {
    const { provider, asked } = await loggedIn({ refresh: 'burnt-refresh' })
    const error = await createAgent({ provider })
      .run({ prompt: 'hi' })
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(AgentAuthError)
    expect(String(error)).toMatch(/log in again/)
    expect(String(error)).not.toContain('burnt-refresh')
    expect(asked).toHaveLength(1)
  })
})

/** A provider whose token is not accepted until it is renewed at a server of this machine. */
async function loggedIn(options: OpenAIOptions = {}, ...answers: Answers) {
  const server = await startAuthorizationServer()
  onTestFinished(() => server.close())
  const tokens = { ...server.issue(Date.now()), access: 'ended' }
  const service = fakeService(...answers, ({ headers }) =>
    server.accepts(secretIn(headers)[0]!) ? hello : { status: 401, body: '{"detail":"ended"}' },
  )
  // What is for the server of this machine goes there, everything else to the service.
  const fetch: typeof globalThis.fetch = (url, init) =>
    (String(url).startsWith(server.url) ? loopbackFetch : service.fetch)(url, init)
  const provider = openai({ ...tokens, oauth: server.endpoints, fetch, prices: false, ...options })
  return { server, provider, tokens, asked: service.asked }
}

async function sent(options: OpenAIOptions, request: Partial<ModelRequest> = {}) {
  const { fetch, asked } = fakeService(hello)
  await ask(openai({ fetch, prices: false, ...options }), request)
  return asked[0]!
}
