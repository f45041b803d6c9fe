import { describe, expect, test } from 'vitest'
import { defineCommand } from './command.ts'
import { parse } from './parse.ts'

const sample = defineCommand({
  name: 'sample',
  summary: 'For tests',
  words: '[task]',
  flags: {
    model: { type: 'string', short: 'm', value: 'name', says: 'Which' },
    thinking: { type: 'string', choices: ['low', 'high'], says: 'How much' },
    turns: { type: 'string', min: 1, says: 'How often' },
    allow: { type: 'string', multiple: true, value: 'rule', says: 'What' },
    resume: { type: 'optional', short: 'r', value: 'id', says: 'Which session' },
    json: { type: 'boolean', short: 'j', says: 'As JSON' },
    settings: { type: 'string', value: 'file', says: 'From where' },
  },
})
const read = (...args: string[]) => parse(args, sample)

describe('flags', () => {
  test('may stand before, after and between arguments', () => {
    expect(read('fix', '--model', 'x', 'it', '-j')).toEqual({
      values: { model: 'x', json: true },
      words: ['fix', 'it'],
      help: false,
    })
    expect(read('--model=a=b', '-m', 'a=b').values).toEqual({ model: 'a=b' })
  })

  test('may be repeated if declared so, and are refused twice otherwise', () => {
    expect(read('--allow', 'shell:ls', '--allow', 'net').values).toEqual({ allow: ['shell:ls', 'net'] })
    expect(() => read('--model', 'a', '--model', 'b')).toThrow('--model was given twice, as "a" and as "b"')
  })

  test('take an optional value only if the next word can be one', () => {
    expect(read('--resume', 'ab12', 'go on')).toMatchObject({ values: { resume: 'ab12' }, words: ['go on'] })
    expect(read('--resume', 'go on please')).toMatchObject({ values: { resume: true }, words: ['go on please'] })
    expect(read('-r')).toMatchObject({ values: { resume: true } })
    expect(read('-r', '--json')).toMatchObject({ values: { resume: true, json: true } })
    expect(read('--resume=x y').values).toEqual({ resume: 'x y' })
  })

  test('an unknown flag is reported with what was probably meant', () => {
    expect(() => read('--modell', 'x')).toThrow('sample has no flag "--modell"; did you mean --model?')
    expect(() => read('--jsno')).toThrow('sample has no flag "--jsno"; did you mean --json?')
    expect(() => read('--thinking', 'hihg')).toThrow(
      '--thinking cannot be "hihg"; it is one of low, high (did you mean high?)',
    )
    expect(() => read('--model')).toThrow('--model needs a name')
    expect(() => read('--model', '--json')).toThrow(
      '--model needs a name; for one that begins with a dash write --model=--json',
    )
    expect(() => read('--json=yes')).toThrow('--json takes no value; leave out the =')
  })

  test('with numbers accept whole numbers from the minimum on', () => {
    expect(read('--turns', '12').values).toEqual({ turns: '12' })
    for (const wrong of ['0', '1.5', '1e3', 'many', '9'.repeat(16), ''])
      expect(() => read(`--turns=${wrong}`)).toThrow(`--turns must be a whole number of at least 1, got "${wrong}"`)
  })

  test('of one letter can be combined, also if one of them takes a value', () => {
    expect(read('-jm', 'x')).toEqual({ values: { json: true, model: 'x' }, words: [], help: false })
    expect(read('-mj', 'x', 'task')).toEqual({ values: { json: true, model: 'x' }, words: ['task'], help: false })
  })

  test('of one letter that are combined take only one value', () => {
    expect(() => read('-mr', 'x')).toThrow('two flags of "-mr" need a value; write them separately')
  })

  test('a text that begins with a dash is distinguished from a flag, whatever its length', () => {
    expect(() => read('- one\n- two')).toThrow('begins with a dash but is not a flag; put -- before')
    expect(() => read(`-${'x'.repeat(130_000)}`)).toThrow('begins with a dash but is not a flag; put -- before')
    expect(() => read(`--${'x'.repeat(130_000)}`)).toThrow(/^sample has no flag "--x{197}…"$/)
  })

  test.each(['constructor', '__proto__', 'toString'])('a property of every object is not a flag: --%s', (name) => {
    expect(() => read(`--${name}`, 'x')).toThrow(`sample has no flag "--${name}"`)
    expect(() => read(`--${name}=x`)).toThrow(`sample has no flag "--${name}"`)
  })

  test('a key in the wrong place is not shown', () => {
    expect(() => read('--json=sk-secret')).toThrow(/^(?!.*secret)/)
  })

  test('a typographic dash is distinguished from a hyphen', () => {
    expect(() => read('\u2014json')).toThrow('begins with a dash that is not a hyphen; write --json')
    expect(() => read('\u2013-model=x')).toThrow('write --model=x')
    expect(read('\u2014 a task', '--', '\u2014json').words).toEqual(['\u2014 a task', '\u2014json'])
  })

  test.each([
    [['--model=--settings=evil.json', 'x'], { model: '--settings=evil.json' }, ['x']],
    [['--', '--settings', 'evil.json'], {}, ['--settings', 'evil.json']],
    [['task', '--', '-m', 'evil'], {}, ['task', '-m', 'evil']],
    [['--allow=--json'], { allow: ['--json'] }, []],
    [['a --settings=evil.json'], {}, ['a --settings=evil.json']],
  ])('TR-16 a value is never read as a flag: %j', (args, values, words) => {
    expect(read(...args)).toEqual({ values, words, help: false })
  })

  test('control characters in an error message are made visible', () => {
    expect(() => read('--\u001b[2Jx')).toThrow('has no flag "--␛[2Jx"')
  })
})

describe('arguments', () => {
  const none = defineCommand({ name: 'none', summary: 'Takes nothing' })
  const one = defineCommand({ name: 'one', summary: 'Takes one', words: '<file>', maxWords: 1 })

  test('are refused if there are too many', () => {
    expect(() => parse(['x'], none)).toThrow('none takes no arguments, got "x"')
    expect(() => parse(['x', 'y'], one)).toThrow('one takes <file>, got 2 arguments')
  })

  test('--help is accepted with any other arguments', () => {
    expect(parse(['x', 'y', '--help'], one).help).toBe(true)
    expect(parse(['-h'], none).help).toBe(true)
  })
})
