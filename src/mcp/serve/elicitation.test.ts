import { expect, test } from 'vitest'
import { answerIn, askableKinds, formOf } from './elicitation.ts'

const approval = { kind: 'Approve', toolId: 'shell', approvalKey: 'k', description: 'Allow shell?\n$ rm x\u202e' }

test('an approval is shown as a whole, with nothing hidden in it, and once or no to choose from', () => {
  const { message, requestedSchema } = formOf('Approve', approval)
  expect(message).toMatch(/^Allow shell\?\n\$ rm x/)
  expect(message).not.toContain('\u202e')
  expect(requestedSchema).toMatchObject({ properties: { answer: { enum: ['once', 'no'] } }, required: ['answer'] })
})

test('what is too long to be read is not asked', () => {
  expect(() => formOf('Approve', { ...approval, description: 'x'.repeat(70_000) })).toThrow('70000 characters')
})

test('only once is a yes', () => {
  const answered = (answer: unknown, action = 'accept') =>
    answerIn('Approve', approval, { action, content: { answer } })
  expect(answered('once')).toEqual({ status: 'accepted', value: { scope: 'once' } })
  for (const answer of ['no', 'yes', 'always', 'ONCE', true, 1, null, undefined, { scope: 'always' }])
    expect(answered(answer).status).toBe('rejected')
  for (const action of ['decline', 'cancel', 'maybe']) expect(answered('once', action).status).toBe('rejected')
  for (const result of [undefined, null, 'once', 5, [], {}])
    expect(answerIn('Approve', approval, result).status).toBe('rejected')
})

test('a choice gives back the option itself, also where two look the same', () => {
  const payload = { kind: 'Select', prompt: 'Which?', options: ['a', { b: 1 }, 'a'] }
  const { answer } = formOf('Select', payload).requestedSchema.properties
  expect(answer.enum).toEqual(['1. a', '2. {"b":1}', '3. a'])
  const chosen = (text: string) => answerIn('Select', payload, { action: 'accept', content: { answer: text } })
  expect(chosen('2. {"b":1}')).toEqual({ status: 'accepted', value: { b: 1 } })
  expect(chosen('4. c').status).toBe('rejected')
})

test('a text is given as it is, a confirmation as true, and nobody is asked for passwords or trust', () => {
  const given = { action: 'accept', content: { answer: 'blue' } }
  expect(answerIn('Ask', { kind: 'Ask', prompt: 'Colour?' }, given)).toEqual({ status: 'accepted', value: 'blue' })
  const yes = { action: 'accept', content: { answer: 'once' } }
  expect(answerIn('Confirm', { kind: 'Confirm', prompt: 'Sure?' }, yes)).toEqual({ status: 'accepted', value: true })
  expect(askableKinds).not.toEqual(expect.arrayContaining(['Auth.Password']))
  expect(askableKinds).not.toEqual(expect.arrayContaining(['trustProject']))
})
