import type { ElicitRequestFormParams } from '@modelcontextprotocol/client'
import { expect, test } from 'vitest'
import { refuseSecretAnswer, refuseSecretForm, SecretFormError } from './secret-form.ts'

const text = { type: 'string' }
const refusing = (properties: object, message = 'Please fill this in') => {
  const params = { message, requestedSchema: { type: 'object', properties } }
  return () => refuseSecretForm(params as unknown as ElicitRequestFormParams)
}

test.each([
  ['apiKey', {}],
  ['OPENAI_API_KEY', {}],
  ['api-key', {}],
  ['password', {}],
  ['user_password', {}],
  ['githubToken', {}],
  ['token', {}],
  ['clientSecret', {}],
  ['credentials', {}],
  ['pin', {}],
  ['pin', { type: 'integer' }],
  ['value', { title: 'API key' }],
  ['value', { title: 'ＡＰＩ　Key' }],
  ['value', { title: 'A\u200bPI k\u00adey' }],
  ['value', { description: 'Your personal access token from github.com' }],
  ['value', { description: 'the pass-phrase of your SSH key' }],
  ['value', { description: 'the 12 words of your recovery phrase' }],
  ['value', { title: 'Passwort' }],
  ['value', { title: 'パスワード' }],
  ['value', { title: 'Пароль' }],
  ['tokens', { type: 'array', items: { type: 'string' } }],
])('S14 a form with the field %s %j is refused', (name, schema) => {
  expect(refusing({ age: { type: 'integer' }, [name]: { ...text, ...schema } })).toThrow(SecretFormError)
})

test('S14 a form whose message asks for a secret is refused, however its field is called', () => {
  expect(refusing({ value: text }, 'To go on, enter your API key')).toThrow(
    'The form was not shown to the user, because it asks for a secret ("api key"). Forms must not ask for secrets: ask for it in url mode, on a page of the server, or read it from the configuration of the server',
  )
  expect(refusing({ value: text }, `${'…'.repeat(1000)} your password?`)).toThrow(SecretFormError)
})

test.each([
  ['name', { title: 'Your name', description: 'as in your passport' }],
  ['maxTokens', { type: 'integer' }],
  ['max_tokens', {}],
  ['tokenLimit', {}],
  ['secretName', { description: 'the name of the entry' }],
  ['keyboard', {}],
  ['key', { description: 'the key of the issue, such as AB-12' }],
  ['author', {}],
  ['pinned', {}],
  ['token', { enum: ['first', 'second'] }],
  ['credentials', { type: 'array', items: { enum: ['a', 'b'] } }],
  ['rememberPassword', { type: 'boolean' }],
  ['compass', { description: 'where it points' }],
  ['secretary', {}],
])('a form with the field %s %j is shown', (name, schema) => {
  expect(refusing({ [name]: { ...text, ...schema } })).not.toThrow()
})

test('a message may mention a token, or ask about one with choices', () => {
  expect(refusing({ answer: text }, 'The token limit was reached. What should be left out?')).not.toThrow()
  expect(refusing({ sure: { type: 'boolean' } }, 'Delete the API key of the project?')).not.toThrow()
})

test('S14 an answer that is a key is not sent', () => {
  expect(() => refuseSecretAnswer('note', `my key is sk-ant-${'a1B2'.repeat(8)}`)).toThrow(SecretFormError)
  expect(() => refuseSecretAnswer('note', `ghp_${'a1B2'.repeat(9)}`)).toThrow('The answer to "note" was not sent')
  for (const fine of ['Ada', 36, true, ['a'], undefined]) expect(() => refuseSecretAnswer('note', fine)).not.toThrow()
})
