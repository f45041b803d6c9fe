import { expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { ask } from '../../../test/oracles/services.ts'
import { speak } from '../../../test/oracles/streams.ts'
import type { ModelRequest } from '../../core/provider.ts'
import type { ServiceOptions } from '../service.ts'
import { google } from './google.ts'

const address = 'https://generativelanguage.googleapis.com/v1beta/models'

test('Google is sent a key in a header of its own, never in the address', async () => {
  const { url, headers } = await sent({ apiKey: 'key' })
  expect(url).toBe(`${address}/gemini-3-pro-preview:streamGenerateContent?alt=sse`)
  expect(headers).toEqual({ accept: 'text/event-stream', 'content-type': 'application/json', 'x-goog-api-key': 'key' })
})

test('Google gets a token in the Authorization header', async () => {
  const { headers } = await sent({ access: 'token' })
  expect(headers.authorization).toBe('Bearer token')
  expect(headers).not.toHaveProperty('x-goog-api-key')
})

test('Google may be asked through an address with a query', async () => {
  const { url } = await sent({ apiKey: 'key', baseURL: 'https://proxy.example/v1beta?team=red' })
  expect(url).toBe('https://proxy.example/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse&team=red')
})

test('A230 settings that the caller adds stand beside ours, and ours win', async () => {
  const extraBodyParams = { generationConfig: { temperature: 0.2, maxOutputTokens: 1 } }
  const { body } = await sent({ apiKey: 'key', extraBodyParams }, { model: 'gemini-2.0-flash' })
  expect(body.generationConfig).toEqual({ temperature: 0.2, maxOutputTokens: 1000 })
})

async function sent(options: ServiceOptions, request: Partial<ModelRequest> = {}) {
  const { fetch, asked } = fakeService(speak('gemini', { text: 'hello' }))
  await ask(google({ fetch, prices: false, ...options }), request)
  return asked[0]!
}
