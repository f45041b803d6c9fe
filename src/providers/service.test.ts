import { describe, expect, test } from 'vitest'
import { fakeService, loopbackService } from '../../test/oracles/loopback.ts'
import { ask, requestTo, serviceCases } from '../../test/oracles/services.ts'
import { speak } from '../../test/oracles/streams.ts'
import { providerContract } from '../testing/index.ts'
import type { RequestCredential } from './credential.ts'
import { createProvider, type Service } from './service.ts'
import { openaiChat } from './wires/openai-chat.ts'

const hello = speak('openai-chat', { text: 'hello there' })

describe.each(serviceCases)('the contract of a provider holds for %s', (_, { make, wire }) => {
  const user = (text: string) => [{ role: 'user', content: [{ type: 'text', text }] } as const]
  const calls = [
    { id: 'call_1', name: 'read', input: { path: 'a' } },
    { id: 'call_2', name: 'read', input: { path: 'b' } },
  ]
  const read = { name: 'read', description: 'Reads.', inputSchema: { type: 'object', properties: {} } }
  const { fetch } = fakeService(({ text }) => {
    if (text.includes('fail')) return { status: 400, body: '{"error":{"message":"no"}}' }
    return speak(wire, text.includes('use tools') ? { calls } : { thinking: 'let me see', text: 'one two three' })
  })
  const contract = providerContract(() => make({ fetch, apiKey: 'key', retry: false, prices: false }), {
    text: { messages: user('talk') },
    toolCall: { messages: user('use tools'), tools: [read] },
    failing: { messages: user('fail') },
  })
  for (const { name, run } of contract) test(name, run)
})

describe('a provider of one’s own', () => {
  const service = (more: Partial<Service> = {}): Service => ({
    name: 'acme',
    wire: openaiChat(),
    baseURL: 'https://acme.example/v1',
    defaultModel: 'acme-1',
    capabilities: { vision: false },
    credentials: { get: () => ({ kind: 'api_key', secret: 'key' }), renew: async () => undefined },
    headers: (credential) => ({ 'x-acme': credential?.secret ?? 'none' }),
    ...more,
  })

  test('is a wire and a service', async () => {
    const { fetch, asked } = fakeService(hello)
    const provider = createProvider(service(), { fetch })
    expect(provider.meta).toEqual({ name: 'acme', defaultModel: 'acme-1', capabilities: { vision: false } })
    const { reply } = await ask(provider)
    expect(reply.content).toEqual([{ type: 'text', text: 'hello there' }])
    expect(asked).toMatchObject([{ url: 'https://acme.example/v1/chat/completions', headers: { 'x-acme': 'key' } }])
  })

  test('loads its wire with the first request, and once', async () => {
    let loads = 0
    const wire = async () => {
      loads++
      return openaiChat()
    }
    const provider = createProvider(service({ wire }), { fetch: fakeService(hello).fetch })
    expect(loads).toBe(0)
    await Promise.all([ask(provider), ask(provider)])
    await ask(provider)
    expect(loads).toBe(1)
  })

  test('fails like any request where its wire cannot be loaded', async () => {
    const wire = () => Promise.reject(new Error('not installed'))
    const provider = createProvider(service({ wire }), { fetch: fakeService(hello).fetch, retry: false })
    await expect(ask(provider)).rejects.toThrow('not installed')
    await expect(ask(provider)).rejects.toThrow('not installed')
  })

  test('may choose its address by the credential, and has the last word on the fields of a body', async () => {
    const { fetch, asked } = fakeService(hello)
    const got: (RequestCredential | undefined)[] = []
    const own = service({
      baseURL: (credential) => `https://${credential?.kind}.example`,
      fields(fields, request, credential) {
        got.push(credential)
        return { ...fields, max_tokens: request.maxTokens * 2 }
      },
    })
    await ask(createProvider(own, { fetch, extraBodyParams: { max_tokens: 1, seed: 7 } }))
    expect(asked).toMatchObject([
      { url: 'https://api_key.example/chat/completions', body: { max_tokens: 2000, seed: 7 } },
    ])
    expect(got).toEqual([{ kind: 'api_key', secret: 'key' }])
  })

  test('uses the built-in transport if no fetch is given', async () => {
    const { url, asked } = await loopbackService(hello)
    const provider = createProvider(service({ baseURL: `${url}/v1/` }), {})
    await ask(provider)
    await ask(provider, { messages: [...requestTo(provider).messages, ...requestTo(provider).messages] })
    expect(asked.map((one) => one.url)).toEqual(['/v1/chat/completions', '/v1/chat/completions'])
    expect(asked[0]!.headers).toMatchObject({ 'x-acme': 'key', accept: 'text/event-stream' })
    expect(asked[1]!.body.messages).toHaveLength(2)
  })
})
