import { describe } from 'vitest'
import { png } from '../faults/poisons/kit.ts'
import { strictAnthropic } from './anthropic.ts'
import { type Row, testRows } from './judge.ts'
import { sign } from './signatures.ts'

const model = 'claude-sonnet-5'
const budgeted = 'claude-sonnet-4-5'
const usual = { path: '/v1/messages', headers: { 'anthropic-version': '2023-06-01', 'x-api-key': 'k' } }

const user = (...content: object[]) => ({ role: 'user', content })
const assistant = (...content: object[]) => ({ role: 'assistant', content })
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const call = (id: string, more: object = {}) => ({ type: 'tool_use', id, name: 'look', input: {}, ...more })
const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, content: 'seen', ...more })
const image = (more: object = {}) => ({
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: png(), ...more },
})
const pdf = (more: object = {}, rest: object = {}) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: btoa('%PDF-1.7'), ...more },
  ...rest,
})
const thought = (words: string, signature?: string) => ({ type: 'thinking', thinking: words, signature })
const mark = { cache_control: { type: 'ephemeral' } }
const tool = (more: object = {}) => ({ name: 'look', description: 'Looks.', input_schema: { type: 'object' }, ...more })
const hi = user(text('Hi'))

const body = (...messages: object[]) => ({ model, max_tokens: 100, stream: true, messages })
const asking = (more: object) => ({ ...body(hi), ...more })
const good = body(hi)
const loop = (called: object, answer: object, ...rest: object[]) => body(hi, assistant(called), user(answer, ...rest))
const goodLoop = loop(call('a'), result('a'))
const headers = (more: Record<string, string | undefined>) => ({ body: good, headers: { ...usual.headers, ...more } })

const row = (rule: string, says: string | RegExp, bad: Row['bad'], fixed: Row['fixed'] = good): Row => ({
  ...{ rule, says, bad, fixed },
})

describe('the strict Messages API', () => {
  testRows(strictAnthropic(), usual, [
    row('a body that is no JSON', 'not valid JSON', '{'),
    row(
      'half a character, written as an escape',
      'no low surrogate',
      body(user(text('\ud83d'))),
      body(user(text('😀'))),
    ),
    row(
      'half a character in a name',
      'no low surrogate',
      loop(call('a', { input: { '\udc00': 1 } }), result('a')),
      goodLoop,
    ),
    row('NUL', 'NUL in string', body(user(text('a\0')))),
    row(
      'a body without end',
      'recursion limit',
      loop(call('a', { input: deep(200) }), result('a')),
      loop(call('a', { input: deep(90) }), result('a')),
    ),
    row('another path', 'Not Found', { body: good, path: '/v1/complete' }),
    row('no version', 'anthropic-version: header is required', headers({ 'anthropic-version': undefined })),
    row('an unknown version', 'not a valid version', headers({ 'anthropic-version': '1999' })),
    row('both ways to say who one is', 'only one of', headers({ authorization: 'Bearer k' })),
    row('no way to say who one is', 'x-api-key header is required', headers({ 'x-api-key': undefined })),
    row('fields that it does not know', 'foo: Extra inputs', asking({ foo: 1 })),
    row('no max_tokens', 'max_tokens: Field required', { model, messages: [hi] }),
    row('no room at all', 'max_tokens: Input should be', asking({ max_tokens: 0 })),
    row(
      'empty instructions',
      'system: text content',
      asking({ system: [text('')] }),
      asking({ system: [text('Be kind.')] }),
    ),

    row('no messages', 'at least one message', body()),
    row('unknown roles', 'messages.0.role', body({ role: 'system', content: 'Hi' })),
    row('more than role and content', 'messages.0.name: Extra inputs', body({ ...hi, name: 'x' })),
    row(
      'an assistant who begins',
      'first message must use the "user" role',
      body(assistant(text('Yes')), hi),
      body(hi, assistant(text('Yes')), hi),
    ),
    row('an assistant who ends', 'prefill', body(hi, assistant(text('Yes'))), {
      ...body(hi, assistant(text('Yes'))),
      model: budgeted,
    }),
    row(
      'empty messages',
      'messages.1: all messages must have non-empty content',
      body(hi, assistant(), hi),
      body(hi, assistant(text('Yes')), hi),
    ),
    row('empty text', 'must be non-empty', body(user(text('')))),
    row('blank text', 'non-whitespace', body(user(text(' \n')))),
    row('blocks that it does not know', "messages.0.content.0: Input tag 'hologram'", body(user({ type: 'hologram' }))),
    row(
      'fields of blocks that it does not know',
      'messages.0.content.0.text.foo: Extra',
      body(user(text('Hi', { foo: 1 }))),
    ),
    row('a call by the user', "Input tag 'tool_use'", body(user(call('a')))),
    row(
      'an image by the assistant',
      "Input tag 'image'",
      body(hi, assistant(image()), hi),
      body(hi, assistant(text('Yes')), hi),
    ),

    row(
      'a call without a result',
      /messages\.1: `tool_use` ids were found without/,
      body(hi, assistant(call('a')), hi),
      goodLoop,
    ),
    row(
      'a result in the message after next',
      /messages\.1: `tool_use` ids/,
      body(hi, assistant(call('a')), hi, user(result('a'))),
      goodLoop,
    ),
    row(
      'text after a call',
      /messages\.1: `tool_use` ids/,
      body(hi, assistant(call('a'), text('So')), user(result('a'))),
      body(hi, assistant(text('So'), call('a')), user(result('a'))),
    ),
    row(
      'a result without a call',
      /messages\.0\.content\.0: unexpected `tool_use_id`/,
      body(user(result('a'), text('Hi'))),
    ),
    row(
      'two results for one call',
      /messages\.2\.content\.1: unexpected/,
      loop(call('a'), result('a'), result('a')),
      goodLoop,
    ),
    row(
      'a result behind a text',
      /`tool_use` ids were found/,
      loop(call('a'), text('So'), result('a')),
      loop(call('a'), result('a'), text('So')),
    ),
    row(
      'an id twice',
      /messages\.1\.content\.1: `tool_use` ids must be unique/,
      body(hi, assistant(call('a'), call('a')), user(result('a'))),
      body(hi, assistant(call('a'), call('b')), user(result('a'), result('b'))),
    ),
    row(
      'an id with a dot',
      'messages.1.content.0.tool_use.id: String should match',
      loop(call('a.b'), result('a.b')),
      goodLoop,
    ),
    row(
      'an id of 65 characters',
      'tool_use.id',
      loop(call('x'.repeat(65)), result('x'.repeat(65))),
      loop(call('x'.repeat(64)), result('x'.repeat(64))),
    ),
    row('a bad name of a tool in a call', 'tool_use.name', loop(call('a', { name: 'fs.read' }), result('a')), goodLoop),
    row('input that is no object', 'tool_use.input', loop(call('a', { input: '{}' }), result('a')), goodLoop),
    row(
      'images in the result of a failed call',
      'all content must be type "text"',
      loop(call('a'), result('a', { is_error: true, content: [image()] })),
      loop(call('a'), result('a', { content: [image()] })),
    ),
    row(
      'parts of results that it does not know',
      'tool_result.content.0: Input tag',
      loop(call('a'), result('a', { content: [{ type: 'x' }] })),
      goodLoop,
    ),
    row(
      'empty text in a result',
      'must be non-empty',
      loop(call('a'), result('a', { content: [text('')] })),
      loop(call('a'), result('a', { content: '' })),
    ),

    row(
      'types of images that it does not know',
      'media_type: Input should be',
      body(user(image({ media_type: 'image/tiff' }))),
      body(user(image())),
    ),
    row(
      'an image that is another',
      'appears to be a image/png',
      body(user(image({ media_type: 'image/gif' }))),
      body(user(image())),
    ),
    row(
      'an image that is none',
      'Could not process image',
      body(user(image({ data: btoa('hello') }))),
      body(user(image())),
    ),
    row('broken base64', 'invalid base64', body(user(image({ data: 'a b' }))), body(user(image()))),
    row(
      'an image of more than 5 MB',
      'exceeds 5 MB',
      body(user(image({ data: png().slice(0, 60) + 'A'.repeat(5 << 20) }))),
      body(user(image())),
    ),
    row(
      'an image of more than 8000 pixels',
      '8000 pixels',
      body(user(image({ data: png(9000) }))),
      body(user(image({ data: png(8000) }))),
    ),
    row(
      'more than 100 images',
      'too many images',
      body(user(...Array.from({ length: 101 }, () => image()))),
      body(user(...Array.from({ length: 100 }, () => image()))),
    ),
    row(
      'documents of other types',
      "media_type: Input should be 'application/pdf'",
      body(user(pdf({ media_type: 'application/zip' }))),
      body(user(pdf())),
    ),
    row(
      'a PDF that is none',
      'The PDF specified was not valid',
      body(user(pdf({ data: btoa('hello') }))),
      body(user(pdf())),
    ),
    row(
      'an empty title of a document',
      'document.title',
      body(user(pdf({}, { title: '' }))),
      body(user(pdf({}, { title: 'a' }))),
    ),

    row(
      'thinking without a signature',
      'thinking.signature: Field required',
      thinking(thought('Hm')),
      thinking(thought('Hm', sign(model, 'Hm'))),
    ),
    row(
      'thinking of another model',
      'Invalid `signature`',
      thinking(thought('Hm', sign('claude-opus-5', 'Hm'))),
      thinking(thought('Hm', sign(model, 'Hm'))),
    ),
    row('thinking with an empty signature', 'Invalid `signature`', thinking(thought('Hm', ''))),
    row('thinking that was edited', 'cannot be modified', thinking(thought('Hm!', sign(model, 'Hm')))),
    row(
      'redacted thinking of another model',
      'Invalid `data`',
      thinking({ type: 'redacted_thinking', data: 'x' }),
      thinking({ type: 'redacted_thinking', data: sign(model, 'redacted') }),
    ),
    row(
      'thinking that ends a message',
      'cannot be `thinking`',
      body(hi, assistant(thought('Hm', sign(model, 'Hm'))), hi),
    ),
    row(
      'budgeted thinking about calls that were made without',
      'Expected `thinking`',
      { ...goodLoop, ...budget(1024) },
      { ...loop(call('a'), result('a')), model: budgeted },
    ),

    row('budgets below 1024', 'greater than or equal to 1024', asking(budget(1000)), asking(budget(1024))),
    row(
      'budgets that leave no room',
      '`max_tokens` must be greater',
      asking({ ...budget(2000), max_tokens: 2000 }),
      asking(budget(2000)),
    ),
    row(
      'budgets to models that choose themselves',
      '"thinking.type.enabled" is not supported',
      asking({ ...budget(2000), model }),
      asking({ thinking: { type: 'adaptive' } }),
    ),
    row(
      'adaptive thinking of models of before',
      '"thinking.type.adaptive" is not supported',
      asking({ model: budgeted, thinking: { type: 'adaptive' } }),
    ),
    row(
      'no thinking of models that always think',
      '"thinking.type.disabled" is not supported',
      asking({ model: 'claude-fable-5', thinking: { type: 'disabled' } }),
      asking({ thinking: { type: 'disabled' } }),
    ),
    row(
      'efforts of models that know none',
      'effort parameter',
      asking({ model: budgeted, output_config: { effort: 'low' } }),
      asking({ output_config: { effort: 'low' } }),
    ),
    row(
      'the highest effort of 4.6',
      'effort parameter',
      asking({ model: 'claude-opus-4-6', output_config: { effort: 'xhigh' } }),
      asking({ model: 'claude-opus-4-7', output_config: { effort: 'xhigh' } }),
    ),
    row(
      'temperatures of newer models',
      '`temperature` is deprecated',
      asking({ temperature: 1 }),
      asking({ model: budgeted, temperature: 1 }),
    ),
    row(
      'a forced tool while it thinks',
      'forces tool use',
      asking({ tools: [tool()], tool_choice: { type: 'tool', name: 'look' } }),
      asking({ tools: [tool()], tool_choice: { type: 'tool', name: 'look' }, thinking: { type: 'disabled' } }),
    ),

    row(
      'a forced tool that is not there',
      "Tool 'find' not found",
      asking({ tools: [tool()], tool_choice: { type: 'tool', name: 'find' } }),
    ),
    row(
      'names of tools with a dot',
      'tools.0.custom.name',
      asking({ tools: [tool({ name: 'fs.read' })] }),
      asking({ tools: [tool()] }),
    ),
    row(
      'two tools of one name',
      'must be unique',
      asking({ tools: [tool(), tool()] }),
      asking({ tools: [tool(), tool({ name: 'b' })] }),
    ),
    row(
      'a schema that is no object',
      "input_schema.type: Input should be 'object'",
      asking({ tools: [tool({ input_schema: { type: 'string' } })] }),
    ),
    row(
      'a choice at the root of a schema',
      'anyOf at the top level',
      asking({ tools: [tool({ input_schema: { type: 'object', anyOf: [] } })] }),
    ),
    row(
      'odd names of properties',
      'Property keys',
      asking({ tools: [tool({ input_schema: { type: 'object', properties: { 'a b': {} } } })] }),
    ),
    row(
      'five breakpoints',
      'Found 5',
      body(user(...'abcde'.split('').map((word) => text(word, mark)))),
      body(user(...'abcd'.split('').map((word) => text(word, mark)))),
    ),
    row(
      'a breakpoint on thinking',
      'thinking.cache_control: Extra',
      thinking({ ...thought('Hm', sign(model, 'Hm')), ...mark }),
    ),
  ])
})

function thinking(block: object): object {
  return body(hi, assistant(block, text('Yes')), hi)
}

function budget(tokens: number): object {
  return { model: budgeted, max_tokens: 4000, thinking: { type: 'enabled', budget_tokens: tokens } }
}

function deep(levels: number): object {
  let value: object = {}
  for (let i = 0; i < levels; i++) value = { value }
  return value
}
