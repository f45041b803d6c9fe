import { describe, expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { ask } from '../../../test/oracles/services.ts'
import { speak } from '../../../test/oracles/streams.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { type AnthropicOptions, anthropic } from './anthropic.ts'

describe('the headers for Anthropic', () => {
  test('are these and no others', async () => {
    const { headers, url } = await sent({ apiKey: 'key' })
    expect(url).toBe('https://api.anthropic.com/v1/messages')
    expect(headers).toEqual({
      accept: 'text/event-stream',
      'anthropic-version': '2026-10-21',
      'content-type': 'application/json',
      'x-api-key': 'key',
    })
  })

  test('have a token in one place and a key in another, never both', async () => {
    const { headers } = await sent({ access: 'token' })
    expect(headers).toMatchObject({ authorization: 'Bearer token', 'anthropic-beta': 'oauth-2025-04-20' })
    expect(headers).not.toHaveProperty('x-api-key')
    for (const name of ['authorization', 'X-Api-Key'])
      expect(() => anthropic({ apiKey: 'key', headers: { [name]: 'secret' } })).toThrow(
        `anthropic option "headers" must not hold "${name}"`,
      )
  })

  test.each([
    ['https://api.anthropic.com', '2026-10-21', 'https://api.anthropic.com/v1/messages'],
    ['https://api.anthropic.com/', '2026-10-21', 'https://api.anthropic.com/v1/messages'],
    ['https://api.anthropic.com/v1', '2026-10-21', 'https://api.anthropic.com/v1/messages'],
    ['https://api.anthropic.com/v1/', '2026-10-21', 'https://api.anthropic.com/v1/messages'],
    ['https://acme.example/anthropic', '2023-06-01', 'https://acme.example/anthropic/v1/messages'],
    ['https://acme.example/anthropic//', '2023-06-01', 'https://acme.example/anthropic/v1/messages'],
    ['http://127.0.0.1:8080', '2023-06-01', 'http://127.0.0.1:8080/v1/messages'],
    ['https://acme.example/a?team=b', '2023-06-01', 'https://acme.example/a/v1/messages?team=b'],
  ])('for %s have the version %s', async (baseURL, version, address) => {
    const { headers, url } = await sent({ apiKey: 'key', baseURL })
    expect(headers['anthropic-version']).toBe(version)
    expect(url).toBe(address)
    const own = await sent({ apiKey: 'key', baseURL, version: '2024-01-01' })
    expect(own.headers['anthropic-version']).toBe('2024-01-01')
  })

  test('A229 name every beta once: those of a login, of context management, and what the caller adds', async () => {
    const contextManagement = { edits: [{ type: 'clear_tool_uses_20250919' }] }
    const extraBetas = ['compact-2026-01-12', 'oauth-2025-04-20', 'compact-2026-01-12']
    const all = await sent({ access: 'token', extraBetas, contextManagement })
    expect(all.headers['anthropic-beta']).toBe('oauth-2025-04-20,context-management-2025-06-27,compact-2026-01-12')
    expect(all.body.context_management).toEqual(contextManagement)
    const keyed = await sent({ apiKey: 'key', extraBetas })
    expect(keyed.headers['anthropic-beta']).toBe('compact-2026-01-12,oauth-2025-04-20')
    expect(keyed.body).not.toHaveProperty('context_management')
    expect((await sent({ apiKey: 'key' })).headers).not.toHaveProperty('anthropic-beta')
  })

  test('A229 have betas from one option only', () => {
    const headers = { 'Anthropic-Beta': 'compact-2026-01-12' }
    expect(() => anthropic({ headers })).toThrow('must not hold "Anthropic-Beta"; pass it as extraBetas')
  })
})

describe('the body for Anthropic', () => {
  test('A229 A230 has what the caller adds, but for what has an option of its own', async () => {
    const contextManagement = { edits: [] }
    const extraBodyParams = {
      service_tier: 'standard_only',
      context_management: { edits: ['lost'] },
      max_tokens: 1,
      output_config: { effort: 'max', task_budget: { type: 'tokens', total: 20_000 } },
    }
    const options = { apiKey: 'key', extraBodyParams, contextManagement }
    const { body } = await sent(options, { thinking: 'low', model: 'claude-sonnet-5' })
    expect(body).toMatchObject({
      service_tier: 'standard_only',
      context_management: { edits: [] },
      max_tokens: 1000 + 4096,
      output_config: { effort: 'low', task_budget: { type: 'tokens', total: 20_000 } },
    })
  })

  test.each([
    ['claude-sonnet-4-5', '2023-06-01', { temperature: 0.2, top_p: 0.9, top_k: 5 }],
    ['claude-sonnet-4-5', undefined, {}],
    ['claude-opus-4-8', '2023-06-01', {}],
    ['claude-sonnet-5', '2023-06-01', {}],
    ['claude-fable-5', '2023-06-01', {}],
  ])('has sampling for %s at version %s only if both take it', async (model, version, expected) => {
    const extraBodyParams = { temperature: 0.2, top_p: 0.9, top_k: 5 }
    const { body } = await sent({ apiKey: 'key', extraBodyParams, ...(version && { version }) }, { model })
    const { temperature, top_p, top_k } = body
    expect(JSON.parse(JSON.stringify({ temperature, top_p, top_k }))).toEqual(expected)
  })
})

async function sent(options: AnthropicOptions, request: Partial<ModelRequest> = {}) {
  const { fetch, asked } = fakeService(speak('anthropic-messages', { text: 'hello' }))
  await ask(anthropic({ fetch, prices: false, ...options }), request)
  return asked[0]!
}
