import { expect, test } from 'vitest'
import { secretsOf, shortText, toErrorText } from './error-text.ts'

test('MC-19 secrets are redacted in an error, by their form and by the configuration', () => {
  const echoed = new Error('denied: Authorization: Bearer abcdefghijklmnop123; you sent hunter2-canary as X-Key')
  const text = toErrorText(echoed, ['hunter2-canary', 'x', ''])
  expect(text).not.toMatch(/abcdefghijklmnop123|hunter2-canary/)
  expect(text).toContain('denied: ')
})

test('MC-19 a secret of any length is redacted, also in our own errors', () => {
  const long = Array.from({ length: 60_000 }, (_, i) => String.fromCharCode(33 + ((i * 7919) % 90))).join('')
  expect(toErrorText(new Error(`you sent ${long}!`), [long, 'hunter2-canary'])).toBe('you sent [REDACTED:1]!')
})

test('S14 a secret is not shown in part, wherever a text is cut', () => {
  const key = `sk-ant-${'a1B2'.repeat(8)}`
  for (let most = 1; most < 70; most++) {
    const text = shortText(`my own-word and ${key}, and so on`, most, ['own-word'])
    expect(text.length).toBeLessThanOrEqual(most)
    expect(text).toMatch(/^m?y? ?(\[[^ ]*)? ?(and)?a?n? ?(\[[^ ]*)?( |$)/)
    expect(text).not.toMatch(/own|sk-/)
  }
})

test('MC-19 escapes and hidden characters are made visible', () => {
  const text = toErrorText(
    new Error(`\u001b]0;owned\u0007\u001b[2Jred\u202e${String.fromCodePoint(0xe0041)}\nnext\rover`),
  )
  expect(text).toBe('␛]0;owned\\x07␛[2Jred\\u202e\\u{e0041}\nnext\\rover')
})

test('MC-19 an error is short, whatever a server wrote', () => {
  const text = toErrorText(new Error('é'.repeat(10_000_000)))
  expect(Buffer.byteLength(text)).toBeLessThan(2200)
  expect(text).toContain('[cut: ')
})

test('any thrown value becomes a text', () => {
  for (const thrown of [undefined, null, 5, {}, '', new Error('')]) expect(toErrorText(thrown)).not.toBe('')
})

test('credentials in the configuration are secrets; a path or a plain word is none', () => {
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
