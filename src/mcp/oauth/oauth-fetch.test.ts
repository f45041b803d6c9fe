import { expect, test } from 'vitest'
import { tokenFetch } from './oauth-fetch.ts'

const answering = (text: string, status = 200) => tokenFetch(async () => new Response(text, { status }))

test('a token endpoint may send null fields and no token_type', async () => {
  const answer = await answering('{"access_token":"a","refresh_token":null,"scope":null}')('https://as.test')
  expect(await answer.json()).toEqual({ access_token: 'a', token_type: 'Bearer' })
})

test('a refusal, or an answer that is no JSON object, is passed on unchanged', async () => {
  expect(await (await answering('<html>')('https://as.test')).text()).toBe('<html>')
  expect(await (await answering('{"error":null}', 400)('https://as.test')).text()).toBe('{"error":null}')
})
