import { describe } from 'vitest'
import { png } from '../faults/poisons/kit.ts'
import { strictGemini } from './gemini.ts'
import { type Row, testRows } from './judge.ts'
import { sign } from './signatures.ts'

const model = 'gemini-3-pro-preview'
const pathOf = (name: string) => `/models/${name}:streamGenerateContent?alt=sse`
const usual = { path: pathOf(model), headers: { 'x-goog-api-key': 'k' } }
const older = (body: object) => ({ body, path: pathOf('gemini-2.5-flash') })
const user = (...parts: object[]) => ({ role: 'user', parts })
const said = (...parts: object[]) => ({ role: 'model', parts })
const text = (words: string) => ({ text: words })
const call = (name = 'look', more: object = {}) => ({ functionCall: { name, args: {}, ...more } })
const signed = (name = 'look', by = model) => ({ ...call(name), thoughtSignature: sign(by, `call ${name}`) })
const result = (name = 'look', more: object = {}) => ({
  functionResponse: { name, response: { output: 'seen' }, ...more },
})
const image = (mimeType = 'image/png', data = png()) => ({ inlineData: { mimeType, data } })
const tool = (more: object = {}) => ({ name: 'look', parametersJsonSchema: { type: 'object' }, ...more })
const tools = (...functionDeclarations: object[]) => ({ tools: [{ functionDeclarations }] })
const hi = user(text('Hi'))

const body = (...contents: object[]) => ({ generationConfig: { maxOutputTokens: 10_000 }, contents })
const asking = (more: object) => ({ ...body(hi), ...more })
const good = body(hi)
const goodLoop = body(hi, said(signed()), user(result()))
const row = (rule: string, says: string | RegExp, bad: Row['bad'], fixed: Row['fixed'] = good): Row => ({
  ...{ rule, says, bad, fixed },
})

describe('the strict Gemini API', () => {
  testRows(strictGemini(), usual, [
    row('half a character', 'no low surrogate', body(user(text('\ud83d'))), body(user(text('😀')))),
    row('another path', 'not found', { body: good, path: '/models/x:generateContent' }),
    row('no key', 'unregistered callers', { body: good, headers: {} }),
    row('fields that it does not know', 'Unknown name "foo"', asking({ foo: 1 })),
    row('no room', 'max_output_tokens', asking({ generationConfig: { maxOutputTokens: 0 } })),
    row('more room than there is', 'max_output_tokens', asking({ generationConfig: { maxOutputTokens: 70_000 } })),
    row(
      'a budget and a level',
      'only set one',
      asking({ generationConfig: { thinkingConfig: { thinkingBudget: 1, thinkingLevel: 'LOW' } } }),
    ),
    row(
      'budgets of newer models',
      'Thinking budget is not supported',
      asking({ generationConfig: { thinkingConfig: { thinkingBudget: 1 } } }),
      older(asking({ generationConfig: { thinkingConfig: { thinkingBudget: 1 } } })),
    ),
    row(
      'levels of models of before',
      'Thinking level is not supported',
      older(asking({ generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } })),
      asking({ generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } }),
    ),
    row(
      'no thinking of models that always think',
      'only works in thinking mode',
      { body: asking({ generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }), path: pathOf('gemini-2.5-pro') },
      older(asking({ generationConfig: { thinkingConfig: { thinkingBudget: 0 } } })),
    ),
    row('no contents', 'contents is not specified', body()),
    row('unknown roles', 'valid role: user, model', body({ role: 'assistant', parts: [text('a')] })),
    row('no parts', 'contents[0].parts: contents.parts must not be empty', body(user())),
    row('empty parts', 'contents[0].parts[0].data: required oneof', body(user({}))),
    row('empty text', "'data' must have one initialized field", body(user(text('')))),
    row(
      'two things in one part',
      "'data' must have one",
      body(user({ ...text('a'), ...image() })),
      body(user(text('a'), image())),
    ),
    row('fields of parts that it does not know', `"foo" at 'contents[0].parts[0]'`, body(user({ text: 'a', foo: 1 }))),
    row('a model that begins', 'start with a user turn', body(said(text('a')), hi), body(hi, said(text('a')), hi)),
    row('a model that ends', 'end with a user role', body(hi, said(text('a')))),
    row(
      'a model that speaks twice',
      'comes immediately after a user turn',
      body(hi, said(text('a')), said(signed()), user(result())),
      goodLoop,
    ),
    row(
      'a result without a call',
      'immediately after a function call turn',
      body(hi, said(text('a')), user(result())),
      goodLoop,
    ),
    row('a call without a result', 'number of function response parts', body(hi, said(signed()), hi), goodLoop),
    row(
      'too few results',
      'number of function response parts',
      body(hi, said(signed(), call()), user(result())),
      body(hi, said(signed(), call()), user(result(), result())),
    ),
    row(
      'results of other functions',
      'number of function response parts',
      body(hi, said(signed()), user(result('find'))),
      goodLoop,
    ),
    row(
      'results with other ids',
      'number of function response parts',
      body(hi, said({ ...signed(), ...call('look', { id: 'a' }) }), user(result('look', { id: 'b' }))),
      body(hi, said({ ...signed(), ...call('look', { id: 'a' }) }), user(result('look', { id: 'a' }))),
    ),
    row(
      'anything beside results',
      'function responses only',
      body(hi, said(signed()), user(result(), text('So'))),
      body(hi, said(signed()), user(result()), user(text('So'))),
    ),
    row(
      'a result that is no object',
      "'contents[2].parts[0].function_response.response'",
      body(hi, said(signed()), user(result('look', { response: 'seen' }))),
      goodLoop,
    ),
    row('a result without a name', 'function_response.name', body(hi, said(signed()), user(result(''))), goodLoop),
    row('a call by the user', 'has the role model', body(user(call()))),
    row('a result by the model', 'has the role user', body(hi, said(result()), hi)),
    row(
      'a name with a slash',
      'contents[1].parts[0].function_call.name',
      body(hi, said(call('fs/read')), user(result('fs/read'))),
      goodLoop,
    ),
    row(
      'arguments that are no object',
      'function_call.args',
      body(hi, said({ functionCall: { name: 'look', args: '{}' } }), user(result())),
      goodLoop,
    ),
    row(
      'an unsigned call',
      'missing a `thought_signature`',
      body(hi, said(call()), user(result())),
      older(body(hi, said(call()), user(result()))),
    ),
    row(
      'an unsigned first call',
      'missing a `thought_signature`',
      body(hi, said(call(), signed()), user(result(), result())),
      body(hi, said(signed(), call()), user(result(), result())),
    ),
    row(
      'an unsigned second step',
      'missing a `thought_signature`',
      body(hi, said(signed()), user(result()), said(call()), user(result())),
      body(hi, said(call()), user(result()), said(text('a')), hi),
    ),
    row(
      'a signature of another model',
      'Invalid thought signature',
      body(hi, said(signed('look', 'gemini-2.5-pro')), user(result())),
      body(hi, said({ ...call(), thoughtSignature: 'skip_thought_signature_validator' }), user(result())),
    ),
    row(
      'types that it does not know',
      'Unsupported MIME type: image/gif',
      body(user(image('image/gif', btoa('GIF89a')))),
      body(user(image())),
    ),
    row(
      'an image that is another',
      'Unable to process input image',
      body(user(image('image/jpeg'))),
      body(user(image())),
    ),
    row('broken base64', 'Base64 decoding failed', body(user(image('image/png', 'a b'))), body(user(image()))),
    row('more than 20 MB', 'payload size exceeds', body(user(text('a'.repeat(20 << 20))))),
    row(
      'names of tools with a slash',
      'Invalid function name',
      asking(tools(tool({ name: 'fs/read' }))),
      asking(tools(tool())),
    ),
    row('two tools of one name', 'Duplicate function declaration', asking(tools(tool(), tool()))),
    row(
      'a schema that is no object',
      'must be of type OBJECT',
      asking(tools(tool({ parametersJsonSchema: { anyOf: [] } }))),
    ),
    row('two schemas', 'must not both be set', asking(tools(tool({ parameters: { type: 'object' } })))),
    row(
      'a forced tool that is not there',
      'not a declared function',
      asking({
        ...tools(tool()),
        toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['find'] } },
      }),
    ),
    row(
      'allowed tools where any may be called',
      'requires mode ANY',
      asking({
        ...tools(tool()),
        toolConfig: { functionCallingConfig: { mode: 'AUTO', allowedFunctionNames: ['look'] } },
      }),
    ),
  ])
})
