import { expect, test } from 'vitest'
import { fakeService } from '../../../test/oracles/loopback.ts'
import { ask } from '../../../test/oracles/services.ts'
import { speak } from '../../../test/oracles/streams.ts'
import { openrouter } from './openrouter.ts'

test('OpenRouter is asked for its own count of the cost', async () => {
  const { url, headers, body } = await sent({ apiKey: 'key' })
  expect(url).toBe('https://openrouter.ai/api/v1/chat/completions')
  expect(headers).toEqual({
    accept: 'text/event-stream',
    authorization: 'Bearer key',
    'content-type': 'application/json',
  })
  expect(body).toEqual({
    model: 'anthropic/claude-sonnet-5',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 1000,
    usage: { include: true },
    messages: [{ role: 'user', content: 'hi' }],
  })
})

test('OpenRouter gets the name of the application if it is set', async () => {
  const { headers } = await sent({ apiKey: 'key', appName: 'Acme', appUrl: 'https://acme.example' })
  expect(headers).toMatchObject({ 'x-title': 'Acme', 'http-referer': 'https://acme.example' })
})

async function sent(options: Parameters<typeof openrouter>[0]) {
  const { fetch, asked } = fakeService(speak('openai-chat', { text: 'hello' }))
  await ask(openrouter({ fetch, prices: false, ...options }))
  return asked[0]!
}
