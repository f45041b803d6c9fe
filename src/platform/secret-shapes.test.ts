import { expect, test } from 'vitest'
import { createRedactor, TextIndex } from './redact.ts'
import { isNoSecret, matchesOf, secretShapesIn } from './secret-shapes.ts'

/** The same shapes written down plainly: each begins where its match begins, which is tried at every word. */
const plain: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{1,20000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g,
  /(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{0,200}\d)[A-Za-z0-9_-]{12,}/g,
  /(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|npm_|hf_)[A-Za-z0-9_-]{16,}/g,
  /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{20,}/g,
  /(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10,}/g,
  /(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /\bBearer\s{1,4}([A-Za-z0-9._~+/=-]{12,})/gi,
  /\bauthorization\\?["']?\s{0,4}[=:]\s{0,4}\\?["']?(?:basic|bearer|token|digest|apikey)\s{1,4}([^\s"'\\,;]{8,400})/gi,
  /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:@/"'<>\\]{0,200}:([^\s@/"'<>\\]{3,400})@/gi,
  /\bhttps?:\/\/([^\s:@/"'<>\\]{16,400})@/gi,
  /[?&](?:[a-z0-9]{1,20}[_.-]){0,3}(?:api_?-?key|access_?-?key|(?:access|auth|api|refresh)?token|(?:client)?secret|password|passwd|signature)=([^\s&"'#<>\\]{6,400})/gi,
  /[?&](?:key|sig)=([^\s&"'#<>\\]{16,400})/gi,
  /\b[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)[A-Z0-9_]{0,60}\\?["']?\s{0,4}[=:]\s{0,4}\\?["']([^"'\\\n]{6,400})\\?["']/g,
  /\b[A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)[A-Z0-9_]{0,60}\s{0,4}[=:]\s{0,4}([^\s"'`,;\\]{6,400})/g,
  /\b[a-z0-9_-]{0,60}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase|authorization|cookie|credentials?)\\?["']?\s{0,4}[=:]\s{0,4}\\?["']([^"'\\\n]{6,400})\\?["']/gi,
  /(?:^|[\s"'`([{,;|-])(?:[a-z0-9]{1,20}[_-]){0,3}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase|pwd|cookie)\s{0,4}[=:]\s{0,4}([^\s"'`,;\\()<>{}[\]]{6,400})/gi,
  /\s--?(?:[a-z0-9]{1,20}[_-]){0,3}(?:(?:api|access|private|secret)_?-?key|secret|token|password|passwd|passphrase)[\s=]{1,2}([^\s"'`,;\\-][^\s"'`,;\\]{5,400})/gi,
  /\b(?:set-)?cookie\s{0,4}:\s{0,4}[^\s=;]{1,100}=([^\s;"'\\]{6,400})/gi,
]

/** What secrets and their neighbourhoods are made of. */
const fragments = [
  ...['key', 'KEY', 'Token', 'TOKEN', 'secret', 'SECRET', 'password', 'PASSWD', 'passphrase', 'pwd', 'cookie', 'sig'],
  ...[
    'authorization',
    'Bearer',
    'basic',
    'credentials',
    'api',
    'access_',
    'private-',
    'DB_',
    'my-',
    'set-',
    'signature',
  ],
  ...[
    '=',
    ':',
    ' = ',
    ': ',
    '="',
    '":"',
    '\\"',
    '"',
    "'",
    '`',
    ',',
    ';',
    '\n',
    ' ',
    '  ',
    '@',
    '?',
    '&',
    '--',
    ' -',
    '#',
  ],
  ...[
    'https://',
    'postgres://',
    'me:',
    'db.test/app',
    '(',
    '[',
    '{',
    '}',
    '<',
    '>',
    '|',
    '$',
    '${',
    '[REDACTED:1]',
    '%',
  ],
  ...['hunter2222', 'abcdef', 'x', '0123456789abcdef0123', 'correct-horse', 'İ', 'é😀', 'word', 'the', '_', '-', '.'],
  ...[
    'sk-',
    'ghp_',
    'AIza',
    'xoxb-',
    'AKIAIOSFODNN7EXAMPLE',
    'eyJhbGciOi.eyJzdWIiOi.c2ln',
    'A'.repeat(61),
    'a'.repeat(400),
  ],
  ...['-----BEGIN PRIVATE KEY-----', '-----END PRIVATE KEY-----', 'process.', 'undefined', 'string'],
]

const random = seeded(20_240)
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
const generated = (n: number): string =>
  Array.from({ length: 1 + Math.floor(random() * n) }, () => pick(fragments)).join('')

test('R10 the fast patterns find what the plain ones find, in 2,000 texts', () => {
  let found = 0
  for (let i = 0; i < 2000; i++) {
    const text = generated(30)
    const wanted = plain.flatMap((pattern) => matchesOf(text, pattern)).filter(({ secret }) => !isNoSecret(secret))
    expect(sorted(secretShapesIn(text)), JSON.stringify(text)).toEqual(sorted(wanted))
    found += wanted.length
  }
  expect(found).toBeGreaterThan(300)
})

test('R10 a text in pieces is redacted like the whole, wherever it is cut', () => {
  for (let i = 0; i < 500; i++) {
    const text = generated(20)
    const at = Math.floor(random() * text.length)
    const pieces = createRedactor().pieces([text.slice(0, at), text.slice(at, at + 3), text.slice(at + 3)])
    expect(pieces.join('')).toBe(createRedactor().text(text))
  }
})

test('R10 texts that are known are found as one pattern of all of them finds them', () => {
  for (let i = 0; i < 300; i++) {
    const known = [...new Set(Array.from({ length: 20 }, () => generated(3)))].filter((one) => one.length >= 4)
    const index = new TextIndex()
    for (const one of known) index.add(one)
    const text = generated(20) + pick(known) + generated(5) + pick(known)
    const longestFirst = known.toSorted((a, b) => b.length - a.length).map(escaped)
    const wanted = Array.from(text.matchAll(new RegExp(longestFirst.join('|'), 'g')), ([found], n) => [n, found])
    expect(index.find(text).map((one, n) => [n, one.text])).toEqual(wanted)
    for (const { start, end, text: one } of index.find(text)) expect(text.slice(start, end)).toBe(one)
  }
})

function sorted(spans: ReturnType<typeof secretShapesIn>): string[] {
  return spans.map(({ start, end, secret }) => `${start} ${end} ${secret}`).sort()
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state / 0x80000000
  }
}
