import { describe, expect, test } from 'vitest'
import { parseSkill } from './parse-skill.ts'

const parse = (front: string, folder = 'my-skill') => parseSkill(`---\n${front}\n---\n\n# Title\n\nBody.\n`, folder)
const withName = (name: string) => parse(`name: ${name}\ndescription: d`)

test('every field is read, and the text below them', async () => {
  const front = [
    'name: my-skill',
    'description: >-',
    '  Reads PDFs: all',
    '  of them.',
    'license: Complete terms in LICENSE.txt',
    'compatibility: needs git',
    'metadata:',
    '  version: 1.0',
    '  nested: [a, {b: c}]',
    'allowed-tools: Bash(git:*) Read, "x"',
    'paths: src/**/*.{ts,tsx}, *.py',
    'model: fast',
    'thinking: high',
    'disable-model-invocation: true',
  ].join('\n')
  expect(await parse(front)).toEqual({
    skill: {
      name: 'my-skill',
      description: 'Reads PDFs: all of them.',
      license: 'Complete terms in LICENSE.txt',
      compatibility: 'needs git',
      metadata: { version: '1.0', nested: '["a",{"b":"c"}]' },
      allowedTools: ['Bash(git:*)', 'Read', '"x"'],
      paths: ['src/**/*.{ts,tsx}', '*.py'],
      model: 'fast',
      thinking: 'high',
      isHidden: true,
    },
    instructions: '# Title\n\nBody.',
    problems: [],
  })
})

test.each([
  ['Read Write', ['Read', 'Write']],
  ['Read,Write,  Bash(npm run test:*, --x)', ['Read', 'Write', 'Bash(npm run test:*, --x)']],
  ['[Read, "Bash(git log *)"]', ['Read', 'Bash(git log *)']],
  ['\n  - Read\n  - Grep', ['Read', 'Grep']],
  ['[]', []],
  ['Bash(git', ['Bash(git']],
])('allowed-tools: %s', async (value, expected) => {
  const { skill } = await parse(`name: my-skill\ndescription: d\nallowed-tools: ${value}`)
  expect(skill?.allowedTools).toEqual(expected)
})

test('an empty allowed-tools is ignored, with a warning', async () => {
  const { skill, problems } = await parse('name: my-skill\ndescription: d\nallowed-tools:')
  expect(skill).not.toHaveProperty('allowedTools')
  expect(problems).toMatchObject([{ field: 'allowed-tools', isSkipped: false }])
})

describe('deviations from the standard are loaded with a warning', () => {
  test.each([
    ['a name that is not the folder’s', 'name: other\ndescription: d', /folder/],
    ['a name in title case with a blank', 'name: My Skill\ndescription: d', /lower case/],
    ['a name that is too long', `name: ${'a'.repeat(65)}\ndescription: d`, /65 characters/],
    ['a name with two hyphens', 'name: my--skill\ndescription: d', /two hyphens/],
    ['no name', 'description: d', /folder is used/],
    ['a description that is too long', `name: my-skill\ndescription: ${'d '.repeat(534)}`, /1067 characters/],
    ['a compatibility that is too long', `name: my-skill\ndescription: d\ncompatibility: ${'c'.repeat(501)}`, /501/],
    ['fields of others', 'name: my-skill\ndescription: d\nversion: 1\nrisk: none', /version, risk/],
    ['a metadata that is none', 'name: my-skill\ndescription: d\nmetadata: x', /metadata/],
    ['hidden characters', 'name: my-skill\ndescription: "d\u{e0041}\u202e"', /2 hidden/],
  ])('%s', async (_, front, warning) => {
    const { skill, problems } = await parse(front)
    expect(skill?.description).toMatch(/^d/)
    expect(problems.every(({ isSkipped }) => !isSkipped)).toBe(true)
    expect(problems.map(({ problem }) => problem).join('\n')).toMatch(warning)
  })
})

test('an odd name is used as it is written', async () => {
  expect((await withName('Hook Development')).skill?.name).toBe('Hook Development')
  expect((await parse('description: d', 'folder-name')).skill?.name).toBe('folder-name')
})

test('TR-17 hidden characters reach neither the description nor the instructions', async () => {
  const { skill, instructions } = await parseSkill(
    '---\nname: a\ndescription: "see\u200b this\u{e0041}"\n---\nDo\u202e it\u{e0042}\u001b[2J\n',
    'a',
  )
  expect(skill?.description).toBe('see this')
  expect(instructions).toBe('Do it[2J')
})

describe('SK-05 a name that is a path or markup is not loaded', () => {
  test.each(
    [
      '../x',
      '..',
      'a/b',
      'a\\b',
      '.hidden',
      'con',
      'NUL',
      'com1',
      'aux.txt',
      '"a\\e[31mb"',
      '<b>x</b>',
      '"a\\nb"',
      'x..y',
    ].concat(['"a\u202eb"', '"a\u200bb"', 'C:x', '"$(id)"', '"`id`"', '"a|b"', '"a."', '"\\0"', `${'a'.repeat(200)}`]),
  )('%j', async (name) => {
    const { skill, problems } = await withName(name)
    expect(skill).toBeUndefined()
    expect(problems).toMatchObject([{ field: 'name', isSkipped: true }])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
    expect(problems[0]?.problem).not.toMatch(/[\x00-\x1f\u202e\u200b]/)
  })
})

test.each([
  ['no description', 'name: my-skill'],
  ['an empty description', 'name: my-skill\ndescription: "  "'],
  ['a description of nothing visible', 'name: my-skill\ndescription: "\u200b"'],
  ['a description that is a list', 'name: my-skill\ndescription: [a]'],
  ['no YAML', 'name: [my-skill\ndescription: d'],
])('with %s it is left out, and it is said why', async (_, front) => {
  const { skill, problems } = await parse(front)
  expect(skill).toBeUndefined()
  expect(problems.at(-1)).toMatchObject({ path: 'my-skill', isSkipped: true, problem: expect.stringMatching(/\w{4}/) })
})

test('SK-07 a blank before the parentheses does not make a tool of a part of it', async () => {
  const { skill } = await parseSkill(
    '---\nname: x\ndescription: x\nallowed-tools: Bash (git:*),  Read\t(src/**) Grep\n---\n',
  )
  expect(skill?.allowedTools).toEqual(['Bash(git:*)', 'Read(src/**)', 'Grep'])
})
