import { expect, test } from 'vitest'
import { answerIn, askableKinds, formOf } from './elicitation.ts'

const approval = { kind: 'Approve', toolId: 'shell', approvalKey: 'k', description: 'Allow shell?\n$ rm x\u202e' }

test('an approval is shown completely, without hidden characters, with the choices once and no', () => {
  const { message, requestedSchema } = formOf('Approve', approval)
  expect(message).toMatch(/^Allow shell\?\n\$ rm x/)
  expect(message).not.toContain('\u202e')
  expect(requestedSchema).toMatchObject({ properties: { answer: { enum: ['once', 'no'] } }, required: ['answer'] })
})

test('a question that is too long to be shown is not asked', () => {
  expect(() => formOf('Approve', { ...approval, description: 'x'.repeat(70_000) })).toThrow('70000 characters')
})

test('only the answer once approves', () => {
  const answered = (answer: unknown, action = 'accept') =>
    answerIn('Approve', approval, { action, content: { answer } })
  expect(answered('once')).toEqual({ status: 'accepted', value: { scope: 'once' } })
  for (const answer of ['no', 'yes', 'always', 'ONCE', true, 1, null, undefined, { scope: 'always' }])
    expect(answered(answer).status).toBe('rejected')
  for (const action of ['decline', 'cancel', 'maybe']) expect(answered('once', action).status).toBe('rejected')
  for (const result of [undefined, null, 'once', 5, [], {}])
    expect(answerIn('Approve', approval, result).status).toBe('rejected')
})

test('a selection returns the option itself, also if two have the same text', () => {
  const payload = { kind: 'Select', prompt: 'Which?', options: ['a', { b: 1 }, 'a'] }
  const { answer } = formOf('Select', payload).requestedSchema.properties
  expect(answer.enum).toEqual(['1. a', '2. {"b":1}', '3. a'])
  const chosen = (text: string) => answerIn('Select', payload, { action: 'accept', content: { answer: text } })
  expect(chosen('2. {"b":1}')).toEqual({ status: 'accepted', value: { b: 1 } })
  expect(chosen('4. c').status).toBe('rejected')
})

test('a text is returned unchanged, a confirmation as true, and passwords and trust are never asked for', () => {
  const given = { action: 'accept', content: { answer: 'blue' } }
  expect(answerIn('Ask', { kind: 'Ask', prompt: 'Colour?' }, given)).toEqual({ status: 'accepted', value: 'blue' })
  const yes = { action: 'accept', content: { answer: 'once' } }
  expect(answerIn('Confirm', { kind: 'Confirm', prompt: 'Sure?' }, yes)).toEqual({ status: 'accepted', value: true })
  expect(askableKinds).not.toEqual(expect.arrayContaining(['Auth.Password']))
  expect(askableKinds).not.toEqual(expect.arrayContaining(['trustProject']))
})
