import { describe, expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { ask, secretIn } from '../../../test/oracles/services.ts'
import { speak } from '../../../test/oracles/streams.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { compatHosts } from './compat-hosts.ts'
import { type OpenAICompatOptions, openaiCompat } from './openai-compat.ts'

const acme = { name: 'acme', baseURL: 'https://acme.example/v1', defaultModel: 'm', apiKey: 'key' } as const

describe('the header with the key', () => {
  test.each([
    [undefined, { authorization: 'Bearer key' }],
    [{ name: 'api-key' }, { 'api-key': 'key' }],
    [{ name: 'X-Auth', scheme: 'Token' }, { 'x-auth': 'Token key' }],
    [{ name: 'Authorization', scheme: 'Basic' }, { authorization: 'Basic key' }],
    [{ name: 'Authorization' }, { authorization: 'key' }],
  ])('A231 for authHeader %j is %j and nothing else', async (authHeader, expected) => {
    const { headers } = await sent({ ...acme, ...(authHeader && { authHeader }) })
    const { accept: _, 'content-type': __, ...rest } = headers
    expect(rest).toEqual(expected)
  })

  test('A231 goes to no other origin under any name, and neither do headers that the caller adds', async () => {
    const elsewhere = { status: 307, headers: { location: 'https://elsewhere.example/v1/chat/completions' } }
    const { fetch, asked } = fakeService(elsewhere)
    const authHeader = { name: 'X-Acme-Auth', scheme: 'Token' }
    const provider = openaiCompat({ ...acme, fetch, authHeader, headers: { 'X-Team': 'red' }, prices: false })
    await expect(ask(provider)).rejects.toThrow('not followed to another origin')
    expect(asked).toHaveLength(1)
    expect(asked[0]!.headers).toMatchObject({ 'x-acme-auth': 'Token key', 'x-team': 'red' })
  })

  test('A231 is given in one place', () => {
    const headers = { 'X-Acme-Auth': 'key' }
    expect(() => openaiCompat({ ...acme, authHeader: { name: 'x-acme-auth' }, headers })).toThrow(
      'openaiCompat option "headers" must not hold "X-Acme-Auth"; pass it as apiKey',
    )
    // A gateway before the service may want an Authorization of its own.
    const gateway = { authHeader: { name: 'api-key' }, headers: { Authorization: 'Bearer of-the-gateway' } }
    expect(() => openaiCompat({ ...acme, ...gateway })).not.toThrow()
  })
})

describe('a service that is known by its name', () => {
  const user = (content: string) => ({ role: 'user', content })
  const plain = { stream: true, stream_options: { include_usage: true }, messages: [user('hi')] }
  const thinking = { ...plain, max_tokens: 1000 + 4096 }
  const effort = { reasoning_effort: 'low' }

  test.each([
    [
      'groq',
      'https://api.groq.com/openai/v1',
      { ...plain, ...effort, model: 'openai/gpt-oss-120b', max_completion_tokens: 1000 + 4096 },
    ],
    ['deepseek', 'https://api.deepseek.com/v1', { ...thinking, model: 'deepseek-chat', thinking: { type: 'enabled' } }],
    [
      'mistral',
      'https://api.mistral.ai/v1',
      { model: 'mistral-large-latest', stream: true, max_tokens: 1000, messages: [user('hi')] },
    ],
    [
      'together',
      'https://api.together.xyz/v1',
      { ...thinking, model: 'openai/gpt-oss-120b', reasoning: { enabled: true } },
    ],
    [
      'fireworks',
      'https://api.fireworks.ai/inference/v1',
      { ...thinking, ...effort, model: 'accounts/fireworks/models/gpt-oss-120b' },
    ],
    ['baseten', 'https://inference.baseten.co/v1', { ...thinking, ...effort, model: 'openai/gpt-oss-120b' }],
    ['xai', 'https://api.x.ai/v1', { ...plain, model: 'grok-4', max_tokens: 1000 }],
    ['ollama', 'http://127.0.0.1:11434/v1', { ...plain, model: 'gpt-oss:20b', max_tokens: 1000 }],
    ['lmstudio', 'http://127.0.0.1:1234/v1', { ...plain, model: 'openai/gpt-oss-20b', max_tokens: 1000 }],
  ] as const)('is asked as %s wants it', async (name, address, expected) => {
    const env = { [`${name.toUpperCase()}_API_KEY`]: 'of-the-environment' }
    const { url, headers, body } = await sent({ name, env }, { thinking: 'low' })
    expect(url).toBe(`${address}/chat/completions`)
    expect(secretIn(headers)).toEqual(['of-the-environment'])
    expect(body).toEqual(expected)
  })

  test('is in the table above, whichever it is', () => {
    expect(Object.keys(compatHosts)).toEqual([
      ...['groq', 'deepseek', 'mistral', 'together', 'fireworks', 'baseten', 'xai', 'ollama', 'lmstudio'],
    ])
  })

  test('needs no more than the name', () => {
    expect(openaiCompat('groq').meta).toEqual(openaiCompat({ name: 'groq' }).meta)
    expect(openaiCompat('deepseek').meta).toMatchObject({ name: 'deepseek', capabilities: { vision: false } })
  })

  test('keeps its quirks at another address and with another model', async () => {
    const options = { name: 'groq', baseURL: 'https://proxy.example/groq/', defaultModel: 'other', apiKey: 'key' }
    const { url, body } = await sent(options)
    expect(url).toBe('https://proxy.example/groq/chat/completions')
    expect(body).toMatchObject({ model: 'other', max_completion_tokens: 1000 })
  })

  test('can be told to have other quirks and capabilities', async () => {
    const options = { name: 'groq', quirks: { systemRole: 'developer' }, capabilities: { vision: false } } as const
    const { body } = await sent({ ...options, apiKey: 'key' }, { system: 'Be brief.' })
    expect(body).toMatchObject({ max_completion_tokens: 1000, messages: [{ role: 'developer' }, { role: 'user' }] })
    expect(openaiCompat(options).meta.capabilities).toMatchObject({ vision: false, imageInToolResult: false })
  })
})

describe('a service that is not known', () => {
  test('is refused without an address, with the names that come near', () => {
    expect(() => openaiCompat({ name: 'grok' })).toThrow(
      'openaiCompat does not know "grok"; pass its baseURL, did you mean "groq"?',
    )
    expect(() => openaiCompat({ name: 'constructor' })).toThrow('openaiCompat does not know "constructor"')
  })

  test('is refused without a model', () => {
    expect(() => openaiCompat({ name: 'acme', baseURL: 'https://acme.example' })).toThrow(
      'openaiCompat needs a defaultModel for "acme"',
    )
  })

  test('has its key in a variable that is called after it, or as the caller says', async () => {
    const { apiKey: _, ...keyless } = acme
    const named = await sent({ ...keyless, name: 'acme-labs.v2', env: { ACME_LABS_V2_API_KEY: 'one' } })
    expect(secretIn(named.headers)).toEqual(['one'])
    const told = await sent({ ...keyless, envKeys: ['A', 'B'], env: { B: 'two', ACME_API_KEY: 'three' } })
    expect(secretIn(told.headers)).toEqual(['two'])
  })
})

describe('a server on this machine', () => {
  test.each(['http://localhost:8080/v1', 'http://127.0.0.1:8080/v1', 'http://[::1]:8080/v1'])(
    'at %s needs no key, and gets one that is there',
    async (baseURL) => {
      const local = { name: 'llamacpp', baseURL, defaultModel: 'm', env: {}, credentialsPath: false } as const
      expect(secretIn((await sent(local)).headers)).toEqual([])
      expect(secretIn((await sent({ ...local, apiKey: 'key' })).headers)).toEqual(['key'])
    },
  )

  test.each(['ollama', 'lmstudio'] as const)('%s needs no key', async (name) => {
    const { headers } = await sent({ name, env: {}, credentialsPath: false })
    expect(headers).not.toHaveProperty('authorization')
  })
})

async function sent(options: OpenAICompatOptions, request: Partial<ModelRequest> = {}) {
  const { fetch, asked } = fakeService(speak('openai-chat', { text: 'hello' }))
  await ask(openaiCompat({ fetch, prices: false, ...options }), request)
  return asked[0]!
}
