import { describe, expect, test } from 'vitest'
import { readMessage } from './read-message.ts'

describe('a message is read unchanged:', () => {
  const messages = {
    'a request': { jsonrpc: '2.0', id: 'x', method: 'ping' },
    'a notification': { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } },
    'an answer': { jsonrpc: '2.0', id: 0, result: { content: [{ type: 'text', text: 'ä' }], constructor: 'Ferrari' } },
    'an error': { jsonrpc: '2.0', id: 7, error: { code: -32601, message: 'no', data: [1] } },
    'an error about nothing we know': { jsonrpc: '2.0', error: { code: -32700, message: 'what?' } },
  }
  test.each(Object.entries(messages))('%s', (_, message) => {
    expect(readMessage(JSON.stringify(message))).toEqual({ message })
  })
})

test('fields that are not in the protocol are left out', () => {
  expect(readMessage('{"jsonrpc":"2.0","id":1,"result":{},"extra":1}')).toEqual({
    message: { jsonrpc: '2.0', id: 1, result: {} },
  })
})

describe('FM-04 other lines are recognized:', () => {
  const lines = [
    ...['Server ready', '42', '"text"', 'null', '[]', '{', '{}', '{"jsonrpc":"1.0","id":1,"result":{}}', 'true'],
    ...[
      '[{"jsonrpc":"2.0","method":"a"}]',
      '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"2.0","method":3}',
      '{"level":30,"msg":"hi"}',
    ],
    ...['{"jsonrpc":"2.0","method":"a","params":[]}', '{"jsonrpc":"2.0","method":"a","id":1.5}', '{"a":NaN}'],
  ]
  test.each(lines)('%s', (line) => {
    expect(readMessage(line)).toEqual({ problem: expect.stringMatching(/^it is (no|a malformed) JSON-RPC message$/) })
  })
})

describe('MC-08 an answer with prototype keys becomes an error answer:', () => {
  const poisons: Record<string, [json: string, why: string]> = {
    'a prototype': ['{"__proto__":{"x":1}}', '"__proto__"'],
    'a prototype, spelled otherwise': ['{"a":[{"\\u005f_proto__":{"x":1}}]}', '"__proto__"'],
    'a prototype of a constructor': ['{"constructor":{"prototype":{"x":1}}}', '"constructor"'],
    'a depth that overflows stacks': [`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, 'nested deeper than 100'],
    'lists without end': [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'nested deeper than 100'],
    'a number that is none': ['{"a":1e999}', 'too large'],
    'no object at all': ['"text"', 'malformed'],
    nothing: ['null', 'malformed'],
  }
  test.each(Object.entries(poisons))('%s', (_, [result, why]) => {
    expect(readMessage(`{"jsonrpc":"2.0","id":5,"result":${result}}`)).toEqual({
      message: { jsonrpc: '2.0', id: 5, error: { code: -32603, message: expect.stringContaining(why) } },
    })
    expect(readMessage(`{"jsonrpc":"2.0","method":"x","params":{"a":${result}}}`)).toEqual(
      result === '"text"' || result === 'null'
        ? { message: expect.anything() }
        : { problem: expect.stringContaining(why) },
    )
  })

  test('and no prototype was changed', () => {
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })
})

test('half a surrogate pair is repaired, because it would break every later request', () => {
  expect(readMessage('{"jsonrpc":"2.0","id":1,"result":{"a":["\\ud800x"],"\\udc00":1}}')).toEqual({
    message: { jsonrpc: '2.0', id: 1, result: { a: ['\ufffdx'], '\ufffd': 1 } },
  })
})
