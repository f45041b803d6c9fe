import { describe, expect, test } from 'vitest'
import { createRedactor } from './redact.ts'

// Put together here, so that no scanner takes this file for a leak.
const join = (...parts: string[]): string => parts.join('')

describe('secrets are known by', () => {
  test.each([
    ['OpenAI', join('sk-', 'proj-abcDEF0123456789abcDEF')],
    ['Anthropic', join('sk-', 'ant-api03-abcDEF_0123456789-xyz')],
    ['GitHub', join('gh', 'p_0123456789abcdefABCDEF0123456789abcd')],
    ['GitHub, fine-grained', join('github', '_pat_11ABCDEFG0abcdefghij_0123456789')],
    ['Google', join('AI', 'zaSyA0123456789abcdefghijklmnopqrstu')],
    ['Slack', join('xo', 'xb-1234567890-abcdefghij')],
    ['AWS', join('AK', 'IAIOSFODNN7EXAMPLE')],
    ['a JWT', join('ey', 'JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl')],
    ['PEM', join('-----BEGIN RSA ', 'PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA ', 'PRIVATE KEY-----')],
  ])('their shape: %s', (_, secret) => {
    expect(createRedactor().text(`Here: ${secret}, and again "${secret}".`)).toBe(
      'Here: [REDACTED:1], and again "[REDACTED:1]".',
    )
  })

  test.each([
    ['DB_PASSWORD=hunter2222', 'DB_PASSWORD=[REDACTED:1]'],
    ['export API_TOKEN="two words here"', 'export API_TOKEN="[REDACTED:1]"'],
    ['MY_SECRET: abcdef', 'MY_SECRET: [REDACTED:1]'],
    ['Authorization: Bearer abcdef123456', 'Authorization: Bearer [REDACTED:1]'],
    ['{"api_key": "abc-def-ghi"}', '{"api_key": "[REDACTED:1]"}'],
    ['{\\"password\\":\\"abc-def\\"}', '{\\"password\\":\\"[REDACTED:1]\\"}'],
    ['Authorization: Basic dXNlcjphYmNkZWY=', 'Authorization: Basic [REDACTED:1]'],
    ['postgres://me:pa55word@db.test/app', 'postgres://me:[REDACTED:1]@db.test/app'],
    ['https://0123456789abcdef0@git.test/x.git', 'https://[REDACTED:1]@git.test/x.git'],
    ['https://a.test/?x=1&api_key=abcdef123#y', 'https://a.test/?x=1&api_key=[REDACTED:1]#y'],
    ['https://a.test/?X-Amz-Signature=0a1b2c3d&b', 'https://a.test/?X-Amz-Signature=[REDACTED:1]&b'],
    ['PASSWORD=$tr0ng-one', 'PASSWORD=[REDACTED:1]'],
    ['password=hunter2aaaa', 'password=[REDACTED:1]'],
    ['db password: hunter2aaaa', 'db password: [REDACTED:1]'],
    ['x-api-key: abcdef12345', 'x-api-key: [REDACTED:1]'],
    ['mysql --password s3cretvalue -u me', 'mysql --password [REDACTED:1] -u me'],
    ['Cookie: sid=abcdef123456', 'Cookie: [REDACTED:1]'],
    ['a token: string, the tokens: 123456', 'a token: string, the tokens: 123456'],
  ])('what stands before them: %s', (text, redacted) => {
    expect(createRedactor().text(text)).toBe(redacted)
  })

  test('the name of their field', () => {
    const value = {
      apiKey: 'abcdef',
      list: [{ access_token: 'ghijkl' }],
      GITHUB_TOKEN: 'mnopqr',
      keyboard: 'qwertz',
      n: 1,
    }
    expect(createRedactor().json(value)).toEqual({
      apiKey: '[REDACTED:1]',
      list: [{ access_token: '[REDACTED:2]' }],
      GITHUB_TOKEN: '[REDACTED:3]',
      keyboard: 'qwertz',
      n: 1,
    })
  })

  test('the name of their header, and of a list of them', () => {
    const headers = { 'x-api-key': 'abcdef', Authorization: 'Basic ghi+jk', 'set-cookie': ['mnopqr', 'stuvwx'] }
    const redacted = createRedactor().json({ headers, password: '<a word' })
    expect(redacted).toEqual({
      headers: {
        'x-api-key': '[REDACTED:1]',
        Authorization: '[REDACTED:2]',
        'set-cookie': ['[REDACTED:3]', '[REDACTED:4]'],
      },
      password: '<a word',
    })
  })

  test('what the header with them taught', () => {
    const redactor = createRedactor()
    redactor.learn({ authorization: 'Custom abcdef-123456', text: btoa('abcdef-123456') })
    expect(redactor.text('sent abcdef-123456')).toBe('sent [REDACTED:1]')
    expect(redactor.text(btoa('abcdef-123456'))).toMatch(/^\[REDACTED:1\].{0,4}$/)
  })

  test('given secrets, also in base64 and in an address', () => {
    const secret = 'correct/horse-9+é'
    const redactor = createRedactor({ secrets: [secret] })
    for (const before of ['', 'u', 'me', 'user:'])
      for (const after of ['', '!', ' x'])
        for (const spelled of ['base64', 'base64url'] as const) {
          const text = Buffer.from(before + secret + after).toString(spelled)
          const bytes = Buffer.from(redactor.text(text).replace('[REDACTED:1]', ''), 'base64')
          expect(redactor.text(text)).toContain('[REDACTED:1]')
          expect(bytes.length).toBeLessThan(before.length + after.length + 4)
        }
    expect(redactor.text(`https://a.test/${encodeURIComponent(secret)}/b`)).toBe('https://a.test/[REDACTED:1]/b')
  })

  test('given secrets, also escaped in JSON', () => {
    const find = (text: string): string[] => text.match(/badge-\w+/g) ?? []
    const redactor = createRedactor({
      secrets: ['two\nlines', find],
      env: { X_TOKEN: 'variable-9', HOME: '/home/me-1' },
    })
    expect(redactor.text('two\nlines, "two\\nlines", badge-77, variable-9, /home/me-1')).toBe(
      '[REDACTED:1], "[REDACTED:1]", [REDACTED:2], [REDACTED:3], /home/me-1',
    )
    expect(() => createRedactor({ secrets: ['abc'] })).toThrow('at least 4')
  })

  test('what was learned elsewhere', () => {
    const redactor = createRedactor()
    redactor.learn({ env: 'APP_SECRET=only-known-by-name', word: 'APP_PASSWORD=banana' })
    expect(redactor.text('It is only-known-by-name; have a banana.')).toBe('It is [REDACTED:1]; have a banana.')
  })
})

test('what is no secret is left as it is', () => {
  const harmless = [
    'task-management-system-2024 on disk-drive-number-12345678',
    'API_KEY=$API_KEY, TOKEN=<your token>, SECRET=process.env.SECRET',
    'maxTokens: 4096, the token count, a monkey',
    'SESSION_KEY=[REDACTED:1]',
    'https://a.test:8080/@scope/x?pageToken=abcdefgh&key=PROJ-12, mailto:me@a.test, Basic understanding',
    'postgres://user:$PASSWORD@host/db, https://user:<password>@host',
  ]
  for (const text of harmless) expect(createRedactor().text(text)).toBe(text)
})

test('a secret that came in pieces goes from all of them', () => {
  const secret = join('sk-', 'ant-api03-abcdef0123456789')
  const text = `The key is ${secret}, keep it.`
  const pieces = text.match(/.{1,4}/gs) ?? []
  const redacted = createRedactor().pieces(pieces)
  expect(redacted.length).toBe(pieces.length)
  expect(redacted.join('')).toBe('The key is [REDACTED:1], keep it.')
})

test('long texts made to be slow are not', () => {
  const redactor = createRedactor({ secrets: ['some-secret'] })
  const hostile = [
    'A_'.repeat(100_000),
    'a-'.repeat(100_000),
    'sk-'.repeat(60_000),
    'KEY'.repeat(60_000),
    '-----BEGIN PRIVATE KEY-----'.repeat(300),
    'eyJaaaaaaaa.'.repeat(20_000),
    'a://'.repeat(50_000),
    'a://b:'.repeat(30_000),
    '?a-b-c-'.repeat(30_000),
    'authorization: basic '.repeat(10_000),
  ]
  for (const text of hostile) expect(typeof redactor.text(text)).toBe('string')
})

test('a secret of any length is taken out', () => {
  const secret = `begin${'x1'.repeat(60_000)}end`
  const redactor = createRedactor({ secrets: [secret, 'another-secret-1'] })
  expect(redactor.text(`a ${secret} b another-secret-1`)).toMatch(/^a \[REDACTED:\d\] b \[REDACTED:\d\]$/)
})
