import { describe } from 'vitest'
import { png } from '../faults/poisons/kit.ts'
import { type Row, testRows } from './judge.ts'
import { strictChat } from './openai-chat.ts'

const usual = { path: '/chat/completions', headers: { authorization: 'Bearer k' } }
const hi = { role: 'user', content: 'Hi' }
const user = (...content: object[]) => ({ role: 'user', content })
const text = (words: string) => ({ type: 'text', text: words })
const image = (type = 'image/png', data = png()) => ({
  type: 'image_url',
  image_url: { url: `data:${type};base64,${data}` },
})
const file = (type: string, words: string) => ({
  type: 'file',
  file: { filename: 'a', file_data: `data:${type};base64,${btoa(words)}` },
})
const call = (id: string, called: object = {}) => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: '{}', ...called },
})
const calling = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
const result = (id: string, content: unknown = 'seen') => ({ role: 'tool', tool_call_id: id, content })
const tool = (more: object = {}) => ({
  type: 'function',
  function: { name: 'look', parameters: { type: 'object' }, ...more },
})

const body = (...messages: object[]) => ({ model: 'm', max_tokens: 10, stream: true, messages })
const asking = (more: object) => ({ ...body(hi), ...more })
const good = body(hi)
const goodLoop = body(hi, calling(call('a')), result('a'))
const row = (rule: string, says: string | RegExp, bad: Row['bad'], fixed: Row['fixed'] = good): Row => ({
  ...{ rule, says, bad, fixed },
})

describe('the strict Chat Completions API', () => {
  testRows(strictChat(), usual, [
    row('half a character', 'no low surrogate', body(user(text('\ud83d'))), body(user(text('😀')))),
    row('another path', 'Invalid URL', { body: good, path: '/completions' }),
    row('no key', 'provide an API key', { body: good, headers: {} }),
    row('fields that it does not know', "Unknown parameter: 'foo'", asking({ foo: 1 })),
    row('no room', "Invalid 'max_tokens'", asking({ max_tokens: 0 })),
    row('two kinds of room', 'at the same time', asking({ max_completion_tokens: 10 })),
    row('no messages', "Invalid 'messages': empty array", body({ role: 'system', content: 'Be kind.' })),
    row('unknown roles', "Invalid value: 'model'", body({ role: 'model', content: 'x' })),
    row(
      'fields of messages that it does not know',
      "Unknown parameter: 'messages[1].reasoning'",
      body(hi, { role: 'assistant', content: 'x', reasoning: 'y' }),
    ),
    row(
      'an assistant with neither words nor calls',
      "'messages[1].content': expected a string, got null",
      body(hi, { role: 'assistant', content: null }),
    ),
    row(
      'an empty list of calls',
      "'messages[1].tool_calls': empty array",
      body(hi, { role: 'assistant', content: 'x', tool_calls: [] }),
    ),
    row('blank words of the assistant', "Invalid 'messages[1].content'", body(hi, { role: 'assistant', content: ' ' })),
    row('blank words of the user', "Invalid 'messages[0].content'", body({ role: 'user', content: ' ' })),
    row('blank parts', "Invalid 'messages[0].content[0].text'", body(user(text('')))),
    row('no parts', "Invalid 'messages[0].content': empty array", body(user())),
    row('parts that it does not know', "Invalid value: 'hologram'", body(user({ type: 'hologram' }))),
    row(
      'fields of parts that it does not know',
      "'messages[0].content[0].cache_control'",
      body(user({ ...text('a'), cache_control: {} })),
    ),
    row('a result without a call', 'must be a response to a preceeding message', body(hi, result('a')), goodLoop),
    row(
      'two results for one call',
      'must be a response',
      body(hi, calling(call('a')), result('a'), result('a')),
      goodLoop,
    ),
    row(
      'a result after the user has spoken',
      'did not have response messages: a',
      body(hi, calling(call('a')), hi, result('a')),
      goodLoop,
    ),
    row('a call without a result', 'did not have response messages: a', body(hi, calling(call('a'))), goodLoop),
    row(
      'images in results',
      "role 'tool' contains an image URL",
      body(hi, calling(call('a')), result('a', [image()])),
      body(hi, calling(call('a')), result('a', [text('a')])),
    ),
    row('results that are none', 'Invalid type', body(hi, calling(call('a')), result('a', null)), goodLoop),
    row(
      'an id of 41 characters',
      'maximum length 40',
      body(hi, calling(call('x'.repeat(41))), result('x'.repeat(41))),
      body(hi, calling(call('x'.repeat(40))), result('x'.repeat(40))),
    ),
    row(
      'no id',
      "Missing required parameter: 'messages[1].tool_calls[0].id'",
      body(hi, calling(call('')), result('')),
      goodLoop,
    ),
    row('an id with a blank', 'does not match pattern', body(hi, calling(call('a b')), result('a b')), goodLoop),
    row(
      'an id twice',
      "duplicate tool call id 'a'",
      body(hi, calling(call('a')), result('a'), calling(call('a')), result('a')),
      goodLoop,
    ),
    row(
      'a name with a dot',
      "'messages[1].tool_calls[0].function.name'",
      body(hi, calling(call('a', { name: 'fs.read' })), result('a')),
      goodLoop,
    ),
    row(
      'arguments that are an object',
      'function.arguments',
      body(hi, calling(call('a', { arguments: {} })), result('a')),
      goodLoop,
    ),
    row(
      'arguments that are no JSON',
      'function.arguments',
      body(hi, calling(call('a', { arguments: '{' })), result('a')),
      goodLoop,
    ),
    row('an image that is another', 'unsupported image', body(user(image('image/jpeg'))), body(user(image()))),
    row(
      'types of images that it does not know',
      'unsupported image',
      body(user(image('image/tiff', 'SUkqAAAA'))),
      body(user(image())),
    ),
    row('broken base64', 'base64-encoded data URL', body(user(image('image/png', 'a b'))), body(user(image()))),
    row(
      'an image of more than 20 MB',
      'too large',
      body(user(image('image/png', png().slice(0, 60) + 'A'.repeat(20 << 20)))),
      body(user(image())),
    ),
    row(
      'more than 500 images',
      'Too many images',
      body(user(...Array.from({ length: 501 }, () => image()))),
      body(user(...Array.from({ length: 500 }, () => image()))),
    ),
    row(
      'files that are no PDF',
      'Unsupported file type',
      body(user(file('text/csv', 'a,b'))),
      body(user(file('application/pdf', '%PDF-1.7'))),
    ),
    row('an empty list of tools', "Invalid 'tools': empty array", asking({ tools: [] }), asking({ tools: [tool()] })),
    row(
      'names of tools with a dot',
      "Invalid 'tools[0].function.name'",
      asking({ tools: [tool({ name: 'fs.read' })] }),
    ),
    row('a schema without a type', 'got \'type: "None"\'', asking({ tools: [tool({ parameters: {} })] })),
    row(
      'a choice at the root of a schema',
      'at the top level',
      asking({ tools: [tool({ parameters: { type: 'object', anyOf: [] } })] }),
    ),
    row(
      'a forced tool that is not there',
      "function 'find' is not in 'tools'",
      asking({ tools: [tool()], tool_choice: { type: 'function', function: { name: 'find' } } }),
    ),
    row('a choice of tools where there are none', 'only allowed when', asking({ tool_choice: 'none' })),
  ])
})

describe('the strict API of OpenRouter', () => {
  testRows(strictChat({ host: 'openrouter' }), usual, [
    row(
      'fields of OpenAI that it does not know',
      'Unknown parameter',
      asking({ foo: 1 }),
      asking({ usage: { include: true }, reasoning: { effort: 'low' } }),
    ),
    row(
      'fields of parts, but for marks',
      "'messages[0].content[0].foo'",
      body(user({ ...text('a'), foo: 1 })),
      body(user({ ...text('a'), cache_control: { type: 'ephemeral' } })),
    ),
    row(
      'fields of messages, but for reasoning',
      'Unknown parameter',
      body(hi, { role: 'assistant', content: 'x', foo: 1 }),
      body(hi, { role: 'assistant', content: 'x', reasoning_details: [] }),
    ),
  ])
})

describe('the strict API of a host that wants the user to have the last word', () => {
  testRows(strictChat({ endsWithUser: true }), usual, [
    row('an assistant who ends', 'Expected last role User', body(hi, { role: 'assistant', content: 'x' })),
  ])
})
