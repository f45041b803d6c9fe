import { describe } from 'vitest'
import { png } from '../faults/poisons/kit.ts'
import { type Row, testRows } from './judge.ts'
import { strictResponses } from './openai-responses.ts'
import { sign } from './signatures.ts'

const model = 'gpt-5.5'
const usual = { path: '/responses', headers: { authorization: 'Bearer k' } }
const user = (...content: object[]) => ({ type: 'message', role: 'user', content })
const text = (words: string) => ({ type: 'input_text', text: words })
const image = (type = 'image/png', data = png()) => ({ type: 'input_image', image_url: `data:${type};base64,${data}` })
const file = (type: string, words: string) => ({
  type: 'input_file',
  filename: 'a',
  file_data: `data:${type};base64,${btoa(words)}`,
})
const said = (words: string, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
  ...more,
})
const call = (id: string, more: object = {}) => ({
  type: 'function_call',
  call_id: id,
  name: 'look',
  arguments: '{}',
  ...more,
})
const result = (id: string, output: unknown = 'seen') => ({ type: 'function_call_output', call_id: id, output })
const reasoning = (id: string, by = model) => ({ type: 'reasoning', id, summary: [], encrypted_content: sign(by, id) })
const tool = (more: object = {}) => ({
  type: 'function',
  name: 'look',
  parameters: { type: 'object' },
  strict: false,
  ...more,
})
const hi = user(text('Hi'))

const body = (...input: object[]) => ({ model, store: false, stream: true, max_output_tokens: 100, input })
const asking = (more: object) => ({ ...body(hi), ...more })
const good = body(hi)
const goodLoop = body(hi, call('a'), result('a'))
const row = (rule: string, says: string | RegExp, bad: Row['bad'], fixed: Row['fixed'] = good): Row => ({
  ...{ rule, says, bad, fixed },
})

describe('the strict Responses API', () => {
  testRows(strictResponses(), usual, [
    row('half a character', 'no low surrogate', body(user(text('\ud83d'))), body(user(text('😀')))),
    row('another path', 'Invalid URL', { body: good, path: '/response' }),
    row('no key', 'provide an API key', { body: good, headers: {} }),
    row('fields that it does not know', "Unknown parameter: 'messages'", asking({ messages: [] })),
    row(
      'too little room',
      'Expected a value >= 16',
      asking({ max_output_tokens: 15 }),
      asking({ max_output_tokens: 16 }),
    ),
    row(
      'efforts that it does not know',
      "'reasoning.effort'",
      asking({ reasoning: { effort: 'huge' } }),
      asking({ reasoning: { effort: 'low' } }),
    ),
    row('keys that are too long', 'prompt_cache_key', asking({ prompt_cache_key: 'x'.repeat(65) })),
    row('no input', "Invalid 'input': empty array", body()),
    row('items that it does not know', "Invalid value: 'hologram' at 'input[1]'", body(hi, { type: 'hologram' })),
    row('fields of items that it does not know', "Unknown parameter: 'input[0].name'", body({ ...hi, name: 'x' })),
    row('unknown roles', "Invalid value: 'tool'", body({ type: 'message', role: 'tool', content: 'x' })),
    row('empty messages', "Invalid 'input[0].content': empty array", body(user())),
    row('blank words of the user', "Invalid 'input[0].content[0].text'", body(user(text(' ')))),
    row(
      'blank words of the assistant',
      "Invalid 'input[1].content[0].text'",
      body(hi, said(''), hi),
      body(hi, said('a'), hi),
    ),
    row(
      'words of the assistant as those of the user',
      "Supported values are: 'output_text'",
      body(hi, { ...user(text('a')), role: 'assistant' }),
    ),
    row(
      'a result without a call',
      'No tool call found for function call output with call_id a',
      body(hi, result('a')),
      goodLoop,
    ),
    row('a result before its call', 'No tool call found', body(hi, result('a'), call('a')), goodLoop),
    row('two results for one call', 'No tool call found', body(hi, call('a'), result('a'), result('a')), goodLoop),
    row('a call without a result', 'No tool output found for function call a', body(hi, call('a'), hi), goodLoop),
    row(
      'a call id twice',
      'Duplicate item found with call_id a',
      body(hi, call('a'), result('a'), call('a'), result('a')),
      goodLoop,
    ),
    row(
      'a call id of 65 characters',
      'maximum length 64',
      body(hi, call('x'.repeat(65)), result('x'.repeat(65))),
      body(hi, call('x'.repeat(64)), result('x'.repeat(64))),
    ),
    row('no call id', "Missing required parameter: 'input[1].call_id'", body(hi, call(''), result('')), goodLoop),
    row('a call id with a blank', 'does not match pattern', body(hi, call('a b'), result('a b')), goodLoop),
    row(
      'a name with a dot',
      "Invalid 'input[1].name'",
      body(hi, call('a', { name: 'fs.read' }), result('a')),
      goodLoop,
    ),
    row(
      'arguments that are no JSON',
      "Invalid 'input[1].arguments'",
      body(hi, call('a', { arguments: '' }), result('a')),
      goodLoop,
    ),
    row(
      'results that are none',
      "'input[2].output'",
      body(hi, call('a'), result('a', null)),
      body(hi, call('a'), result('a', [text('a'), image()])),
    ),
    row(
      'ids of calls that are none',
      "begins with 'fc'",
      body(hi, call('a', { id: 'call_1' }), result('a')),
      body(hi, call('a', { id: 'fc_1' }), result('a')),
    ),
    row(
      'ids of messages that are none',
      "begins with 'msg'",
      body(hi, said('a', { id: 'x' })),
      body(hi, said('a', { id: 'msg_1' })),
    ),
    row(
      'an id twice',
      'Duplicate item found with id msg_1',
      body(hi, said('a', { id: 'msg_1' }), said('b', { id: 'msg_1' })),
      body(hi, said('a', { id: 'msg_1' }), said('b', { id: 'msg_2' })),
    ),
    row('ids of 65 characters', 'maximum length 64', body(hi, said('a', { id: `msg_${'x'.repeat(61)}` }))),
    row(
      'references to what is not stored',
      'Items are not persisted',
      body(hi, { type: 'item_reference', id: 'rs_1' }),
    ),
    row(
      'reasoning that leads to nothing',
      "'rs_1' of type 'reasoning' was provided without its required following item",
      body(hi, reasoning('rs_1'), hi),
      body(hi, reasoning('rs_1'), said('a'), hi),
    ),
    row(
      'reasoning that leads to reasoning',
      'required following item',
      body(hi, reasoning('rs_1'), reasoning('rs_2'), said('a')),
      body(hi, reasoning('rs_1'), said('a'), reasoning('rs_2'), said('b')),
    ),
    row(
      'reasoning of another model',
      'could not be verified',
      body(hi, reasoning('rs_1', 'gpt-5'), said('a')),
      body(hi, reasoning('rs_1'), said('a')),
    ),
    row(
      'what reasoning led to without it',
      "without its required 'reasoning' item: 'rs_r1'",
      body(hi, said('a', { id: 'msg_r1' })),
      body(hi, reasoning('rs_r1'), said('a', { id: 'msg_r1' })),
    ),
    row('an image that is another', 'unsupported image', body(user(image('image/jpeg'))), body(user(image()))),
    row('broken base64', 'base64-encoded data URL', body(user(image('image/png', 'a b'))), body(user(image()))),
    row(
      'more than 500 images',
      'Too many images',
      body(user(...Array.from({ length: 501 }, () => image()))),
      body(user(image())),
    ),
    row(
      'files that are no PDF',
      'Unsupported file type',
      body(user(file('text/csv', 'a,b'))),
      body(user(file('application/pdf', '%PDF-1.7'))),
    ),
    row('an empty list of tools', "Invalid 'tools': empty array", asking({ tools: [] }), asking({ tools: [tool()] })),
    row(
      'nested functions',
      "Unknown parameter: 'tools[0].function'",
      asking({ tools: [{ type: 'function', function: {} }] }),
      asking({ tools: [tool()] }),
    ),
    row('names of tools with a dot', "Invalid 'tools[0].name'", asking({ tools: [tool({ name: 'fs.read' })] })),
    row(
      'a choice at the root of a schema',
      'at the top level',
      asking({ tools: [tool({ parameters: { type: 'object', oneOf: [] } })] }),
    ),
    row(
      'a forced tool that is not there',
      "Tool choice 'find' not found",
      asking({ tools: [tool()], tool_choice: { type: 'function', name: 'find' } }),
    ),
  ])
})
