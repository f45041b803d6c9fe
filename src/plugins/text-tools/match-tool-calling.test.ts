import { describe, expect, test } from 'vitest'
import { replies, thoughtReplies } from '../../../test/stories/text-tools-kit.ts'
import { matchAllToolCallings, matchToolCalling } from './match-tool-calling.ts'

const use = (body: string): string => `<tool_use name="t">${body}</tool_use>`
const parametersOf = (body: string): unknown => matchToolCalling(use(body))?.parameters

describe('D013 parameters', () => {
  test.each([
    ['JSON', '{"a":1,"b":[true,null]}', { a: 1, b: [true, null] }],
    ['JSON over lines', '\n{\n "a": "x\\ny"\n}\n', { a: 'x\ny' }],
    ['JSON5', "{a: 'x', b: +.5, /* why */ c: [1,],}", { a: 'x', b: 0.5, c: [1] }],
    ['JSON5 with a line separator in a string', "{a: 'x\u2028y'}", { a: 'x\u2028y' }],
    ['JSON with line breaks in a string', '{"a":"x\r\n\ty", "b": [1,],}', { a: 'x\r\n\ty', b: [1] }],
    ['JSON5 with line breaks in a string', "{a: 'it\\'s\nso'}", { a: "it's\nso" }],
    ['a string that a break was the end of', '{"a":"x\n}', { input: '{"a":"x\n}' }],
    ['JSON as HTML writes it', '{&quot;a&quot;: &quot;1 &lt; 2 &amp;amp; &#39;&quot;}', { a: "1 < 2 &amp; '" }],
    ['entities in JSON', '{"a": "&lt;b&gt; &quot;"}', { a: '&lt;b&gt; &quot;' }],
    ['nothing', '', {}],
    ['spaces', ' \n ', {}],
    ['plain text', ' look for cats ', { input: 'look for cats' }],
    ['a list', '[1,2]', { input: [1, 2] }],
    ['a number', '7', { input: 7 }],
    ['a string', '"x"', { input: 'x' }],
    ['null', 'null', { input: null }],
    ['a number without end', '{"a":1e999}', { input: '{"a":1e999}' }],
    ['half an object', '{"a":', { input: '{"a":' }],
  ])('%s', (_, body, parameters) => {
    expect(parametersOf(body)).toEqual(parameters)
  })

  test('D013 of unreadable parameters 1000 characters are kept, and never half a character', () => {
    expect(parametersOf('x'.repeat(1000))).toEqual({ input: 'x'.repeat(1000) })
    expect(parametersOf('x'.repeat(1001))).toEqual({ input: 'x'.repeat(1000) })
    expect(parametersOf(`${'x'.repeat(999)}😀`)).toEqual({ input: 'x'.repeat(999) })
  })

  test('D013 nesting is bounded', () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect(parametersOf(deep)).toEqual({ input: deep.slice(0, 1000) })
  })
})

describe('D013 forms', () => {
  test.each([...replies, ...thoughtReplies])('$title', ({ text, calls, isParallel = false }) => {
    const found = matchAllToolCallings(text)
    expect(found.calls.map(({ toolId, parameters }) => [toolId, parameters])).toEqual(calls)
    expect(found.parallel).toBe(isParallel)
    for (const { originalText } of found.calls) expect(text).toContain(originalText)
  })

  test('the first call, or none', () => {
    expect(matchToolCalling('Hi')).toBeUndefined()
    expect(matchToolCalling(`${use('{"a":1}')} ${use('{"a":2}')}`)).toEqual({
      toolId: 't',
      parameters: { a: 1 },
      originalText: use('{"a":1}'),
    })
  })

  describe('D013 a form with the name inside', () => {
    const patterns = [{ tag: 'tool_call', nameIn: 'json' }] as const
    const found = (text: string) =>
      matchAllToolCallings(text, { patterns }).calls.map(({ toolId, parameters }) => [toolId, parameters])

    test.each([
      ['as many models write it', '<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>', [['a', { x: 1 }]]],
      [
        'parameters under their other name',
        '<tool_call>{"parameters":{"x":1},"name":"a"}</tool_call>',
        [['a', { x: 1 }]],
      ],
      ['parameters as a text', '<tool_call>{"name":"a","arguments":"{\\"x\\":1}"}</tool_call>', [['a', { x: 1 }]]],
      ['no parameters', '<tool_call>{"name":"a"}</tool_call>', [['a', {}]]],
      ['a list', '<tool_call>{"name":"a","arguments":[1]}</tool_call>', [['a', { input: [1] }]]],
      [
        'a closing tag inside',
        '<tool_call>{"name":"a","arguments":{"x":"</tool_call>"}}</tool_call>',
        [['a', { x: '</tool_call>' }]],
      ],
      ['cut behind the JSON', '<tool_call>{"name":"a","arguments":{}}', [['a', {}]]],
      ['cut in the JSON', '<tool_call>{"name":"a","arguments":{', []],
      ['no name', '<tool_call>{"arguments":{"x":1}}</tool_call>', []],
      ['no JSON', 'A <tool_call>look</tool_call> is a call.', []],
      ['in a fence', '```\n<tool_call>{"name":"a","arguments":{"x":1}}</tool_call>\n```', [['a', { x: 1 }]]],
      [
        'beside the others',
        '<tool_call>{"name":"a"}</tool_call><tool_use name="b"/>',
        [
          ['a', {}],
          ['b', {}],
        ],
      ],
    ])('%s', (_, text, calls) => {
      expect(found(text)).toEqual(calls)
      expect(matchAllToolCallings(text).calls.map(({ toolId }) => toolId)).not.toContain('a')
    })

    test('other places are refused', () => {
      expect(() => matchAllToolCallings('', { patterns: [{ tag: 'a', nameIn: 'body' as 'json' }] })).toThrow(
        `the pattern "a" needs a nameIn of 'attribute' or 'json', got "body"`,
      )
    })
  })

  test('D013 patterns can be added', () => {
    const text = '<Invoke tool="a">{"x":1}</invoke> <tool_use name="b"></tool_use>'
    const found = matchAllToolCallings(text, { patterns: [{ tag: 'invoke', nameAttribute: 'tool' }] })
    expect(found.calls.map(({ toolId }) => toolId)).toEqual(['a', 'b'])
    expect(matchAllToolCallings(text).calls.map(({ toolId }) => toolId)).toEqual(['b'])
  })

  test.each([
    [{ tag: '' }, 'got ""'],
    [{ tag: 'a b' }, 'got "a b"'],
    [{ tag: 'parallel_tool_calls' }, 'got "parallel_tool_calls"'],
    [{ tag: 'a', nameAttribute: '=' }, 'got "="'],
  ])('a pattern that cannot be one is refused: %j', (pattern, message) => {
    expect(() => matchToolCalling('', { patterns: [pattern] })).toThrow(message)
  })
})

describe('D014 parameters are data, whatever they say', () => {
  test.each([
    'process.exit()',
    '$' + '{process.exit(1)}',
    '`$' + '{globalThis.ran = true}`',
    '(() => { globalThis.ran = true })()',
    '{a: (globalThis.ran = true)}',
    '{a: new Function("globalThis.ran = true")()}',
    '[].constructor.constructor("globalThis.ran = true")()',
    'require("child_process").execSync("touch /tmp/ran")',
    '{"a": 1}; globalThis.ran = true',
    '*/ globalThis.ran = true /*',
  ])('%s', (body) => {
    expect(parametersOf(body)).toEqual({ input: body })
    expect(globalThis).not.toHaveProperty('ran')
  })

  test('D014 a prototype cannot be given', () => {
    for (const body of [
      '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
      '{__proto__:{isAdmin:true}}',
    ]) {
      const parameters = parametersOf(body) as Record<string, unknown>
      expect(Object.getPrototypeOf(parameters)).toBe(Object.prototype)
      expect(parameters.isAdmin).toBeUndefined()
      expect(Object.keys(parameters)).toContain('__proto__')
    }
    expect({}).not.toHaveProperty('isAdmin')
  })
})
