import { expect, test } from 'vitest'
import { tokenFetch } from './oauth-fetch.ts'

const answering = (text: string, status = 200) => tokenFetch(async () => new Response(text, { status }))

test('a token endpoint may write null for what it does not give, and leave out the kind of token', async () => {
  const answer = await answering('{"access_token":"a","refresh_token":null,"scope":null}')('https://as.test')
  expect(await answer.json()).toEqual({ access_token: 'a', token_type: 'Bearer' })
})

test('what is no answer, or a refusal, is handed on as it is', async () => {
  expect(await (await answering('<html>')('https://as.test')).text()).toBe('<html>')
  expect(await (await answering('{"error":null}', 400)('https://as.test')).text()).toBe('{"error":null}')
})
