import { expect, test } from 'vitest'
import { tokensOf } from './renew-credential.ts'

const answer = { access_token: 'at-1', token_type: 'Bearer' }

test('the expiry of a token is known only if the server states it', () => {
  expect(tokensOf({ ...answer, expires_in: 60 }, 1000)).toEqual({ access: 'at-1', expires: 61_000 })
  // The SDK reads null and an empty text as 0: such a token would be renewed before each request.
  for (const expires_in of [undefined, 0, Number.NaN, 1e306])
    expect(tokensOf({ ...answer, ...(expires_in !== undefined && { expires_in }) }, 1000)).toEqual({ access: 'at-1' })
})

test('a token that cannot be sent in a header is refused and not quoted', () => {
  for (const access_token of ['', 'canary\u0001', 'canary\n', 'canary €', 'canary'.repeat(100_000)])
    expect(() => tokensOf({ ...answer, access_token }, 1)).toThrow(/^(?!.*canary).*no request can carry/s)
  expect(() => tokensOf({ ...answer, refresh_token: 'canary'.repeat(100_000) }, 1)).toThrow(/^(?!.*canary)/s)
})
