import { expect, test } from 'vitest'
import { LeaseLostError, StoreError } from '../../core/errors.ts'
import { isRetryable, storeErrorOf } from './failure.ts'

const failure = (code: string, message = 'it went wrong'): Error => Object.assign(new Error(message), { code })

test.each([
  ['53100', 'full'],
  ['25006', 'read_only'],
  ['28P01', 'denied'],
  ['28000', 'denied'],
  ['42501', 'denied'],
  ['SASL_SIGNATURE_MISMATCH', 'denied'],
  ['XX001', 'corrupt'],
  ['42P01', 'corrupt'],
  ['3D000', 'unavailable'],
  ['CONNECTION_ENDED', 'unavailable'],
  ['NO_ANSWER', 'unavailable'],
  ['22P02', 'unavailable'],
])('the code %s means %s, at once', (code, meant) => {
  const error = storeErrorOf(failure(code), [])
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code: meant, message: expect.stringContaining('it went wrong; ') })
  expect(isRetryable(failure(code))).toBe(false)
})

test.each([
  ['53300', 'busy'],
  ['40001', 'busy'],
  ['40P01', 'busy'],
  ['55P03', 'busy'],
  ['57014', 'busy'],
  ['08006', 'unavailable'],
  ['57P01', 'unavailable'],
  ['57P02', 'unavailable'],
  ['57P03', 'unavailable'],
  ['ECONNRESET', 'unavailable'],
  ['ECONNREFUSED', 'unavailable'],
  ['EPIPE', 'unavailable'],
  ['ETIMEDOUT', 'unavailable'],
  ['EAI_AGAIN', 'unavailable'],
  ['CONNECTION_CLOSED', 'unavailable'],
  ['CONNECTION_DESTROYED', 'unavailable'],
  ['CONNECT_TIMEOUT', 'unavailable'],
])('%s may pass; what is left of it is %s', (code, meant) => {
  expect(isRetryable(failure(code))).toBe(true)
  expect(storeErrorOf(failure(code), [])).toMatchObject({ code: meant })
})

test('what is secret is taken out, and the values of the statement are not passed on', () => {
  const given = Object.assign(failure('08006', 'no route for hunter2 to postgres://me:hunter2@there/db'), {
    parameters: ['what the user said'],
  })
  const error = storeErrorOf(given, ['postgres://me:hunter2@there/db', 'hunter2'])
  expect(error.message).toContain('no route for *** to ***;')
  expect(error.cause).not.toHaveProperty('parameters')
  expect(JSON.stringify([error.message, String(error.cause)])).not.toContain('hunter2')
})

test('errors of ours stay as they are', () => {
  for (const error of [new LeaseLostError('taken'), new StoreError('newer', 'too new'), new TypeError('too long')]) {
    expect(storeErrorOf(error, [])).toBe(error)
    expect(isRetryable(error)).toBe(false)
  }
})
