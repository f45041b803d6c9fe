import { expect, test } from 'vitest'
import { OneTimeCodes } from './one-time-codes.ts'

test('WB135 a code logs in once, within a minute, and is good for nothing else', async () => {
  let now = 0
  const codes = new OneTimeCodes(() => now)
  const answer = codes.loggingIn(async ({ headers }) => new Response(headers.get('authorization')))
  const seen = async (path: string, code: string): Promise<string> =>
    (
      await answer(
        new Request(`http://127.0.0.1${path}`, { method: 'POST', headers: { authorization: `Bearer ${code}` } }),
      )
    ).text()
  const code = codes.codeFor('the-token')
  expect(await seen('/v1/sessions', code)).toBe(`Bearer ${code}`)
  expect(await seen('/v1/login', code)).toBe('Bearer the-token')
  expect(await seen('/v1/login', code)).toBe(`Bearer ${code}`)
  const late = codes.codeFor('the-token')
  now = 61_000
  expect(await seen('/v1/login', late)).toBe(`Bearer ${late}`)
})
