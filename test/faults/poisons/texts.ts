import type { SessionContentBlock } from '../../../src/types.ts'
import {
  assistant,
  called,
  elsewhere,
  half,
  hi,
  loop,
  odd,
  type Poison,
  poison,
  poisonFor,
  result,
  text,
  user,
} from './kit.ts'

export const texts: readonly Poison[] = [
  poison('half a character in a text', 'malformed-text', user(text(half)), assistant(text(half))),
  poison('half a character in a result', 'malformed-text', ...loop(called('c'), result('c', half))),
  poison('half a character in a part of a result', 'malformed-text', ...loop(called('c'), result('c', [text(half)]))),
  poison(
    'half a character in the input of a call',
    'malformed-input',
    ...loop(called('c', 'look', { [half]: [half] }), result('c')),
  ),
  poison('half a character in the name of a tool', 'tool-name', ...loop(called('c', `look${half}`), result('c'))),
  poisonFor('half a character in what the service keeps with a block', 'malformed-data', ({ by, wire }) => [
    hi,
    { ...assistant({ type: 'text', text: 'Yes.', providerData: { [wire.name]: { note: half } } }), ...by },
  ]),
  poison(
    'NUL in a text, a result and an input',
    'malformed-text',
    hi,
    assistant(text('a\0'), called('c', 'look', { a: '\0' })),
    user(result('c', 'b\0'), text('\0')),
  ),
  poison('empty texts', 'empty-text', user(text(''), text('Hi')), assistant(text(''), text('Yes.'))),
  poison('an assistant who says nothing but blanks', 'empty-text', hi, assistant(text(' \n\t ')), user(text('What?'))),
  poison('blank parts in a result', 'empty-text', ...loop(called('c'), result('c', [text(''), text(' ')]))),
  poison('messages without content', 'empty-message', user(), hi, assistant(), user()),
  poison('a text that is none', 'malformed-block', user(odd({ type: 'text' }), text('Hi'))),
  poison(
    'blocks of a newer version',
    'unknown-block',
    user(odd({ type: 'hologram', data: 'x' }), text('Hi')),
    assistant(odd({ type: 'dance' })),
  ),
  poison(
    'an assistant who begins',
    { 'anthropic-messages': 'starts-with-assistant', gemini: 'starts-with-assistant' },
    assistant(text('Welcome.')),
    hi,
  ),
  poison('an assistant who ends', {}, hi, assistant(text('Bye.'))),
  poison(
    'an assistant who speaks twice',
    'assistant-twice',
    hi,
    assistant(text('Yes.')),
    assistant(text('Well.'), called('c')),
    user(result('c')),
  ),
  poison('an unknown role', 'wrong-role', odd({ role: 'system', content: [text('Be brief.')] }) as never, hi),
  poison('what other wires keep with their blocks', 'foreign-block', hi, {
    ...assistant(
      ...['anthropic-messages', 'openai-chat', 'openai-responses', 'gemini'].map(ofAWire),
      { type: 'text', text: 'Yes.', providerData: { 'openai-responses': { bound: { id: 'msg_r1' } } } },
      { ...called('c'), providerData: { gemini: { bound: { thoughtSignature: 'QUJD' } } } },
    ),
    ...elsewhere,
  }),
]

function ofAWire(wire: string): SessionContentBlock {
  return { type: 'text', text: '', providerData: { [wire]: { block: { type: 'web_search_call', id: 'ws_1' } } } }
}
