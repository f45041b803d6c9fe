import { assistant, called, hi, loop, odd, type Poison, poison, result, text, user } from './kit.ts'

export const calls: readonly Poison[] = [
  poison(
    'a call in the middle that was never answered',
    'missing-result',
    hi,
    assistant(called('c')),
    user(text('Never mind.')),
    assistant(text('Fine.')),
  ),
  poison(
    'a call in the middle, then the assistant again',
    'missing-result',
    hi,
    assistant(called('c')),
    assistant(called('d')),
    user(result('d')),
  ),
  poison('calls at the end that were never answered', {}, hi, assistant(called('c'), called('d'))),
  poison(
    'one of two results',
    'missing-result',
    hi,
    assistant(called('c'), called('d')),
    user(result('d')),
    assistant(text('Fine.')),
  ),
  poison('a result without a call', 'orphan-result', hi, assistant(text('Yes.')), user(result('c'), text('And?'))),
  poison(
    'messages with nothing but a result without a call',
    'orphan-result',
    user(result('c')),
    assistant(text('Yes.')),
    user(result('c')),
    assistant(called('e')),
    user(result('e')),
  ),
  poison(
    'a result that comes after the user has said something',
    'result-order',
    hi,
    assistant(called('c')),
    user(text('Well?')),
    user(result('c')),
    assistant(text('Fine.')),
  ),
  poison(
    'a result behind a text in the same message',
    'result-order',
    hi,
    assistant(called('c')),
    user(text('Well?'), result('c')),
    assistant(text('Fine.')),
  ),
  poison(
    'results in another order than their calls',
    'result-order',
    hi,
    assistant(called('c', 'look'), called('d', 'find')),
    user(result('d'), result('c')),
  ),
  poison(
    'two results for one call',
    'duplicate-result',
    hi,
    assistant(called('c')),
    user(result('c', 'one'), result('c', 'two')),
  ),
  poison(
    'the same id in two turns',
    'call-id',
    ...loop(called('c'), result('c')),
    user(text('Again.')),
    assistant(called('c', 'find')),
    user(result('c', 'two')),
  ),
  poison(
    'the same id twice in one turn',
    'call-id',
    hi,
    assistant(called('c', 'look', { n: 1 }), called('c', 'look', { n: 2 })),
    user(result('c', 'one'), result('c', 'two')),
  ),
  poison(
    'ids with characters that services refuse',
    'call-id',
    ...loop(called('functions.look:0 é|\n'), result('functions.look:0 é|\n')),
  ),
  poison('ids of 400 characters', 'call-id', ...loop(called(`fc_${'x'.repeat(400)}`), result(`fc_${'x'.repeat(400)}`))),
  poison('empty ids', 'call-id', hi, assistant(called(''), called('')), user(result('', 'one'), result('', 'two'))),
  poison(
    'ids that are none',
    'call-id',
    ...loop(odd({ ...called('c'), id: null }), odd({ ...result('c'), callId: null })),
  ),
  poison('text after a call', 'calls-last', hi, assistant(called('c'), text('I will look.')), user(result('c'))),
  poison(
    'a call in what the user says',
    'wrong-role',
    user(text('Hi'), called('c')),
    assistant(text('Yes.')),
    user(result('c')),
  ),
  poison(
    'a result in what the assistant says',
    'wrong-role',
    hi,
    assistant(called('c'), result('c')),
    user(text('And?')),
  ),
  poison('input that is very deep', 'malformed-input', ...loop(called('c', 'look', deep(500)), result('c'))),
  poison('input that is no object', 'malformed-input', ...loop(odd({ ...called('c'), input: 'text' }), result('c'))),
  poison(
    'a call that could not be read',
    {},
    ...loop(
      odd({ ...called('c'), raw: '{"a":', unreadable: 'the text ends' }),
      result('c', 'Unreadable', { isError: true }),
    ),
  ),
  poison(
    'results that are none',
    'malformed-result',
    ...loop(called('c'), result('c', null)),
    ...loop(called('d'), result('d', { a: 1 })),
  ),
  poison(
    'a part of a newer version in a result',
    'malformed-result',
    ...loop(called('c'), result('c', [{ type: 'hologram' }, text('seen')])),
  ),
  poison(
    'tools whose names have dots, slashes and letters of all kinds, or are none',
    'tool-name',
    hi,
    assistant(called('c', 'fs.read/αβγ'), called('d', ''), called('e', 'x'.repeat(300))),
    user(result('c'), result('d'), result('e')),
  ),
]

function deep(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = {}
  for (let i = 0; i < levels; i++) value = { value }
  return value
}
