import { sign } from '../../strict/signatures.ts'
import type { Counterpart } from './counterparts.ts'
import { assistant, elsewhere, hi, type Poison, poison, poisonFor, type Said, text, thought, user } from './kit.ts'

export const thinking: readonly Poison[] = [
  poison('thinking that another provider signed', 'foreign-thinking', hi, {
    ...assistant(thought('Hm.', 'c2lnbmVk'), text('Yes.')),
    ...elsewhere,
  }),
  poisonFor('thinking that another model of the same provider signed', 'foreign-thinking', (to) => [
    hi,
    { ...signedByAnother(to), provider: to.by.provider, model: 'other-model' },
  ]),
  poisonFor(
    'thinking with an unknown signature',
    {
      'anthropic-messages': 'rejected-thinking',
      'openai-responses': 'rejected-thinking',
      gemini: 'rejected-thinking',
    },
    (to) => [hi, signedByAnother(to), user(text('And?')), assistant(text('No.'))],
  ),
  poison(
    'thinking without a signature',
    { 'anthropic-messages': 'unsigned-thinking', 'openai-responses': 'unsigned-thinking' },
    hi,
    assistant(thought('Hm.'), text('Yes.')),
  ),
  poison('redacted thinking of another provider', 'foreign-thinking', hi, {
    ...assistant(thought('', 'redacted_thinking:QUJD'), text('Yes.')),
    ...elsewhere,
  }),
  poisonFor('redacted thinking of its own', {}, ({ by }) => [
    hi,
    { ...assistant(thought('', `redacted_thinking:${sign(by.model, 'redacted')}`), text('Yes.')), ...by },
  ]),
  poisonFor('thinking that was edited', { 'anthropic-messages': 'rejected-thinking' }, ({ by }) => [
    hi,
    { ...assistant(thought('Hm!', sign(by.model, 'Hm.')), text('Yes.')), ...by },
  ]),
  poisonFor('a reply that ended in the middle of its thinking', 'thinking-last', ({ by }) => [
    hi,
    { ...assistant(thought('Hm.', sign(by.model, 'Hm.'))), ...by },
  ]),
]

/** Signed in the way of every wire, by a model that is not the one asked. */
function signedByAnother({ wire }: Counterpart): Said {
  const signature = sign('other-model', 'Hm.')
  const bound = { id: 'rs_9', encrypted_content: sign('other-model', 'rs_9'), thoughtSignature: signature }
  return assistant({ type: 'thinking', text: 'Hm.', signature, providerData: { [wire.name]: { bound } } }, text('Yes.'))
}
