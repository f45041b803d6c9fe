import { expect, test } from 'vitest'
import { secretsOf } from './secrets-of.ts'

test('what a server is given to sign in with is a secret; a path or a plain word is none', () => {
  const env = {
    NODE_ENV: 'production',
    ROOT: '/home/me/p',
    API_KEY: 'plainword',
    ODD: 'a1b2c3d4',
    DB_PASSWORD: '/x/y/z',
  }
  const headers = { Authorization: 'Bearer abcdef' }
  const secrets = secretsOf({ name: 'a', transport: 'stdio', env, headers, url: 'https://x.test/?k=query1' })
  expect(secrets.toSorted()).toEqual(['/x/y/z', 'Bearer abcdef', 'a1b2c3d4', 'abcdef', 'plainword', 'query1'])
})
