import type { SessionContentBlock } from '../../src/types.ts'
import { sign } from '../strict/signatures.ts'
import { assistant, type Counterpart, called, image, png, result, type Said, text, user } from './poison-kit.ts'

/** A log that would be refused as it is, by one service or another. */
export interface Poison {
  readonly name: string
  /** The rule that mends it, where it has to be; for some services it has not. */
  readonly rule?: string
  turns(to: Counterpart): readonly Said[]
  readonly more?: readonly object[]
}

const half = 'half an emoji: \ud83d'
const odd = (block: object): SessionContentBlock => block as SessionContentBlock
const hi = user(text('Hi'))
const thought = (words: string, signature?: string): SessionContentBlock => ({
  type: 'thinking',
  text: words,
  ...(signature !== undefined && { signature }),
})
const loop = (call: SessionContentBlock, answer: SessionContentBlock): Said[] => [
  hi,
  assistant(call),
  user(answer),
  assistant(text('So.')),
]
const elsewhere = { provider: 'elsewhere', model: 'other-model' }

/** Longer than any service takes of one image. */
const oversize = png() + 'A'.repeat(22 * 1024 * 1024)

const deep = (levels: number): Record<string, unknown> => {
  let value: Record<string, unknown> = {}
  for (let i = 0; i < levels; i++) value = { value }
  return value
}

const always = (name: string, rule: string | undefined, ...turns: readonly Said[]): Poison => ({
  name,
  turns: () => turns,
  ...(rule !== undefined && { rule }),
})

export const poisons: readonly Poison[] = [
  always('half a character in a text', 'malformed-text', user(text(half)), assistant(text(half))),
  always('half a character in a result', 'malformed-text', ...loop(called('c'), result('c', half))),
  always('half a character in a part of a result', 'malformed-text', ...loop(called('c'), result('c', [text(half)]))),
  always(
    'half a character in the input of a call',
    'malformed-input',
    ...loop(called('c', 'look', { [half]: [half] }), result('c')),
  ),
  always('half a character in the name of a tool', 'tool-name', ...loop(called('c', `look${half}`), result('c'))),
  always(
    'NUL in a text, a result and an input',
    'malformed-text',
    hi,
    assistant(text('a\0'), called('c', 'look', { a: '\0' })),
    user(result('c', 'b\0'), text('\0')),
  ),
  {
    name: 'thinking that another provider signed',
    rule: 'foreign-thinking',
    turns: () => [hi, { ...assistant(thought('Hm.', 'c2lnbmVk'), text('Yes.')), ...elsewhere }],
  },
  {
    name: 'thinking that another model of the same provider signed',
    rule: 'foreign-thinking',
    turns: ({ by, wire }) => [
      hi,
      {
        ...assistant(
          {
            type: 'thinking',
            text: 'Hm.',
            signature: sign('other-model', 'Hm.'),
            providerData: { [wire]: { bound: sealed } },
          },
          {
            type: 'text',
            text: 'Yes.',
            providerData: { [wire]: { bound: { id: 'msg_9', thoughtSignature: 'QUJD' } } },
          },
        ),
        provider: by.provider,
        model: 'other-model',
      },
    ],
  },
  {
    name: 'thinking that somebody unknown signed',
    turns: ({ wire }) => [
      hi,
      assistant(
        {
          type: 'thinking',
          text: 'Hm.',
          signature: sign('other-model', 'Hm.'),
          providerData: { [wire]: { bound: sealed } },
        },
        text('Yes.'),
      ),
      user(text('And?')),
      assistant(text('No.')),
    ],
  },
  always('thinking that nobody signed', undefined, hi, assistant(thought('Hm.'), text('Yes.'))),
  always('redacted thinking of somebody else', undefined, hi, {
    ...assistant(thought('', 'redacted_thinking:QUJD'), text('Yes.')),
    ...elsewhere,
  }),
  {
    name: 'a reply that ended in the middle of its own thinking',
    rule: 'thinking-last',
    turns: ({ by }) => [hi, { ...assistant(thought('Hm.', sign(by.model, 'Hm.'))), ...by }],
  },
  always(
    'a call in the middle that was never answered',
    undefined,
    hi,
    assistant(called('c')),
    user(text('Never mind.')),
    assistant(text('Fine.')),
  ),
  always(
    'a call in the middle, then the assistant again',
    'missing-result',
    hi,
    assistant(called('c')),
    assistant(called('d')),
    user(result('d')),
  ),
  always('a call at the end that was never answered', undefined, hi, assistant(called('c'), called('d'))),
  always(
    'one of two results',
    undefined,
    hi,
    assistant(called('c'), called('d')),
    user(result('d')),
    assistant(text('Fine.')),
  ),
  always('a result without a call', 'orphan-result', hi, assistant(text('Yes.')), user(result('c'), text('And?'))),
  always(
    'nothing but a result without a call',
    'orphan-result',
    user(result('c')),
    assistant(text('Yes.')),
    user(result('c')),
    assistant(called('e')),
    user(result('e')),
  ),
  always(
    'a result that comes after the user has said something',
    'result-order',
    hi,
    assistant(called('c')),
    user(text('Well?')),
    user(result('c')),
    assistant(text('Fine.')),
  ),
  always(
    'a result behind a text in the same message',
    'result-order',
    hi,
    assistant(called('c')),
    user(text('Well?'), result('c')),
    assistant(text('Fine.')),
  ),
  always(
    'two results for one call',
    'duplicate-result',
    hi,
    assistant(called('c')),
    user(result('c', 'one'), result('c', 'two')),
  ),
  always(
    'results in another order than their calls',
    undefined,
    hi,
    assistant(called('c', 'look'), called('d', 'find')),
    user(result('d'), result('c')),
  ),
  always(
    'the same id in two turns',
    'call-id',
    ...loop(called('c'), result('c')),
    user(text('Again.')),
    assistant(called('c', 'find')),
    user(result('c', 'two')),
  ),
  always(
    'the same id twice in one turn',
    'call-id',
    hi,
    assistant(called('c', 'look', { n: 1 }), called('c', 'look', { n: 2 })),
    user(result('c', 'one'), result('c', 'two')),
  ),
  always(
    'ids with characters that services refuse',
    'call-id',
    ...loop(called('functions.look:0 é|\n'), result('functions.look:0 é|\n')),
  ),
  always('ids of 400 characters', 'call-id', ...loop(called(`fc_${'x'.repeat(400)}`), result(`fc_${'x'.repeat(400)}`))),
  always('empty ids', 'call-id', hi, assistant(called(''), called('')), user(result('', 'one'), result('', 'two'))),
  always(
    'ids that are none',
    'call-id',
    ...loop(odd({ ...called('c'), id: undefined }), odd({ ...result('c'), callId: undefined })),
  ),
  always('empty texts', 'empty-text', user(text(''), text('Hi')), assistant(text(''), text('Yes.'))),
  always('an assistant who says nothing but blanks', 'empty-text', hi, assistant(text(' \n\t ')), user(text('What?'))),
  always('messages without content', 'empty-message', user(), hi, assistant(), user()),
  always('blank parts in a result', 'empty-text', ...loop(called('c'), result('c', [text(''), text(' ')]))),
  always('an assistant who begins', undefined, assistant(text('Welcome.')), hi),
  always('an assistant who begins with a call', undefined, assistant(called('c')), user(result('c'))),
  always(
    'an assistant who speaks twice',
    'assistant-twice',
    hi,
    assistant(text('Yes.')),
    assistant(text('Well.'), called('c')),
    user(result('c')),
  ),
  always('text after a call', 'calls-last', hi, assistant(called('c'), text('I will look.')), user(result('c'))),
  always(
    'a call in what the user says',
    'wrong-role',
    user(text('Hi'), called('c')),
    assistant(text('Yes.')),
    user(result('c')),
  ),
  always(
    'a result in what the assistant says',
    'wrong-role',
    hi,
    assistant(called('c'), result('c')),
    user(text('And?')),
  ),
  always('a role that nobody knows', 'wrong-role', { role: 'system' as 'user', content: [text('Be brief.')] }, hi),
  always('an image that is too large', 'image-size', user(image(oversize), text('Look.'))),
  always(
    'an image that is none of what it says',
    'image-type',
    user(image(png(), 'image/jpeg')),
    assistant(called('c')),
    user(result('c', [image(png(), 'image/gif')])),
  ),
  always('an image of a kind that nobody takes', 'image-type', user(image('SUkqAAAA', 'image/tiff'))),
  always('a text that says it is an image', 'image-data', user(image(btoa('hello, I am a text'), 'image/png'))),
  always('an image whose data is broken', 'image-data', user(image('not base64!'), image(''))),
  always(
    'images in the result of a failed call',
    undefined,
    ...loop(called('c'), result('c', [text('Oops'), image()], { isError: true })),
  ),
  always(
    '600 images in one message and 600 in as many',
    undefined,
    user(...Array.from({ length: 600 }, () => image())),
    assistant(called('c')),
    user(
      result(
        'c',
        Array.from({ length: 600 }, () => image()),
      ),
    ),
  ),
  always('an image that the assistant made', undefined, hi, assistant(image(), text('There.'))),
  always(
    'documents of types that nobody reads',
    'document-type',
    user({ type: 'document', mediaType: 'application/zip', data: 'UEsDBA==', name: 'a.zip' }),
  ),
  always(
    'a document that is no PDF, one with a broken name, one without words',
    undefined,
    user(
      { type: 'document', mediaType: 'application/pdf', data: btoa('<html>') },
      { type: 'document', mediaType: 'text/plain', data: btoa('words'), name: half },
      { type: 'document', mediaType: 'text/markdown', data: btoa(' \n') },
      { type: 'document', mediaType: 'text/csv', data: btoa('a,b'), name: '' },
      { type: 'document', mediaType: 'application/pdf', data: btoa('%PDF-1.7 …'.slice(0, 8)), name: '' },
    ),
  ),
  always(
    'blocks of a newer version',
    'unknown-block',
    user(odd({ type: 'hologram', data: 'x' }), text('Hi')),
    assistant(odd({ type: 'dance' })),
  ),
  always(
    'a part of a newer version in a result',
    'malformed-result',
    ...loop(called('c'), result('c', [{ type: 'hologram' }, text('seen')])),
  ),
  always(
    'a result that is none',
    'malformed-result',
    ...loop(called('c'), result('c', undefined)),
    ...loop(called('d'), result('d', { a: 1 })),
  ),
  always('input that is very deep', 'malformed-input', ...loop(called('c', 'look', deep(500)), result('c'))),
  always('input that is no object', 'malformed-input', ...loop(odd({ ...called('c'), input: 'text' }), result('c'))),
  always(
    'a call that could not be read',
    undefined,
    ...loop(
      odd({ ...called('c'), raw: '{"a":', unreadable: 'the text ends' }),
      result('c', 'Unreadable', { isError: true }),
    ),
  ),
  {
    name: 'what other wires keep with their blocks',
    turns: () => [
      hi,
      {
        ...assistant(
          ...['anthropic-messages', 'openai-chat', 'openai-responses', 'gemini'].map(
            (wire): SessionContentBlock => ({
              type: 'text',
              text: '',
              providerData: { [wire]: { block: { type: 'web_search_call', id: 'ws_1' } } },
            }),
          ),
          { type: 'text', text: 'Yes.', providerData: { 'openai-responses': { bound: { id: 'msg_r1' } } } },
          {
            ...called('c'),
            providerData: {
              gemini: { bound: { thoughtSignature: 'QUJD' } },
              'openai-responses': { bound: { id: 'fc_r1' } },
            },
          },
        ),
        ...elsewhere,
      },
      user(result('c')),
    ],
  },
  {
    name: 'half a character in what the service itself keeps with a block',
    rule: 'malformed-data',
    turns: ({ by, wire }) => [
      hi,
      { ...assistant({ type: 'text', text: 'Yes.', providerData: { [wire]: { note: half } } }), ...by },
    ],
  },
  always(
    'tools whose names have dots, slashes and letters of all kinds',
    undefined,
    hi,
    assistant(called('c', 'fs.read/αβγ'), called('d', ''), called('e', 'x'.repeat(300))),
    user(result('c'), result('d'), result('e')),
  ),
]

const sealed = {
  id: 'rs_9',
  encrypted_content: sign('other-model', 'rs_9'),
  thoughtSignature: sign('other-model', 'text'),
}
