import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseYaml, plainFields, readFrontMatter, splitFrontMatter } from './front-matter.ts'
import { parseSkill } from './parse-skill.ts'

const fields = async (yaml: string) => Object.fromEntries((await readFrontMatter(yaml)).fields ?? [])

test('a file is split at the first two lines of ---', () => {
  const text = '---\nname: a\n---\n\nBody with --- and\n\n---\n\nanother rule\n'
  expect(splitFrontMatter(text)).toEqual({ yaml: 'name: a\n', body: 'Body with --- and\n\n---\n\nanother rule' })
  expect(splitFrontMatter('\uFEFF---\r\nname: a\r\n---\r\nBody\r\n')).toEqual({ yaml: 'name: a\n', body: 'Body' })
  expect(splitFrontMatter('--- \nname: a --- b\n---\t\nBody')).toEqual({ yaml: 'name: a --- b\n', body: 'Body' })
})

test.each([
  ['nothing', ''],
  ['no front matter', '# Title\n'],
  ['a blank line first', '\n---\nname: a\n---\n'],
  ['no end', '---\nname: a\n'],
  ['an end that is none', '---\nname: a\n----\n'],
  ['too much', `---\nname: ${'a'.repeat(20_000)}\n---\n`],
])('what has %s is refused, and it is said why', (_, text) => {
  expect(splitFrontMatter(text)).toMatchObject({ failure: expect.stringMatching(/front matter/) })
})

test('a value with an unquoted colon is read as text, also over several lines, with a warning', async () => {
  const yaml = `name: pdf\ndescription: Use this when: it's a PDF\n  or else: something\nmetadata:\n  note: a: b\n`
  const { fields, repaired } = await readFrontMatter(yaml)
  expect(repaired).toContain('quotes')
  expect(fields?.get('description')).toBe("Use this when: it's a PDF or else: something")
  expect(fields?.get('metadata')).toEqual(new Map([['note', 'a: b']]))
})

test('values are as they are written: a version of 1.0 is no number', async () => {
  expect(await fields('a: 1.0\nb: yes\nc: 0x10\nd: 2024-01-01\ne: !!str 1\n')).toEqual({
    a: '1.0',
    b: 'yes',
    c: '0x10',
    d: '2024-01-01',
    e: '1',
  })
})

const laughs = [
  'a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]',
  ...[...'bcdefghi'].map((name, i) => {
    const before = 'abcdefgh'[i]
    return `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(', ')}]`
  }),
].join('\n')

describe('SK-06 front matter with tags, aliases or deep nesting is refused', () => {
  test.each([
    ['a billion laughs', laughs, /alias/],
    ['a tag that makes a function', 'a: !!js/function "function () { return 1 }"', /tag/],
    ['a tag of its own', 'a: !command ls', /tag/],
    ['the same field twice', 'name: a\nname: b', /twice/],
    ['the same field twice, once in quotes', 'name: a\n"name": b', /twice/],
    ['lists without end', `a: ${'['.repeat(2000)}`, /cannot be read/],
    ['keys without end', '? '.repeat(2000), /cannot be read/],
    ['a list where fields should be', '- a\n- b', /fields/],
    ['a key that is a list', '? [a, b]\n: c', /no text/],
  ])('%s', async (_, yaml, why) => {
    const { fields, failure } = await readFrontMatter(yaml)
    expect(fields).toBeUndefined()
    expect(failure).toMatch(why)
    const text = `---\nname: x\ndescription: y\n${yaml}\n---\nBody`
    expect(await parseSkill(text, 'x')).toMatchObject({ problems: [{ isSkipped: true }] })
  })
})

test('SK-06 a value that contains itself ends up as nothing', async () => {
  const { skill } = await parseSkill('---\nname: x\ndescription: y\nmetadata:\n  a: &a [*a, *a, *a]\n---\n', 'x')
  expect(skill?.metadata).toEqual({ a: '' })
})

test('SK-06 fields named like properties of every object are ordinary fields', async () => {
  const { skill } = await parseSkill('---\nname: x\ndescription: y\nmetadata:\n  __proto__: z\n---\n', 'x')
  expect(Object.entries(skill?.metadata ?? {})).toEqual([['__proto__', 'z']])
  expect(({} as Record<string, unknown>).z).toBeUndefined()
})

test('the fast path reads the same fields as the parser', async () => {
  const tricky = [
    'true',
    '~',
    '1.0',
    '',
    'a:',
    'a: b',
    'a:b',
    'a #b',
    'a#b',
    'a  b ',
    '"a"',
    "'a'",
    '"a" b',
    "'a''b'",
  ].concat(['"a: b"', "'a #b'", '"a', '- a', '...', 'a, b', '[a]', '{a}', '"\\n"', '&a b', '*a', 'a &b', '| a', '"a":'])
  const sign = fc.constantFrom(...` abcxyz09AZ:#'"\\-_.,*&!|>%@[]{}()?~`)
  const word = fc.oneof(fc.string({ unit: sign, maxLength: 8 }), fc.constantFrom(...tricky))
  const line = fc
    .tuple(
      fc.constantFrom('', '  ', ' '),
      fc.constantFrom('name', 'metadata', 'a', 'b'),
      fc.constantFrom(':', ': '),
      word,
    )
    .map((parts) => parts.join(''))
  let plain = 0
  const agree = async (yaml: string): Promise<void> => {
    const ours = plainFields(yaml)
    if (!ours) return
    plain++
    expect(await parseYaml(yaml)).toEqual({ fields: ours })
  }
  for (const value of tricky)
    for (const before of ['', 'b: c\n', 'metadata:\n  ']) await agree(`${before}name: ${value}\nlicense: MIT\n`)
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 5 }), (lines) => agree(`${lines.join('\n')}\n`)),
    { numRuns: 1500 },
  )
  expect(plain).toBeGreaterThan(100)
  expect(plainFields('name: a\ndescription: Reads PDFs, "all" of them.\nmetadata:\n  v: "1"\nlicense: MIT\n')).toEqual(
    new Map<string, unknown>([
      ['name', 'a'],
      ['description', 'Reads PDFs, "all" of them.'],
      ['metadata', new Map([['v', '1']])],
      ['license', 'MIT'],
    ]),
  )
})
