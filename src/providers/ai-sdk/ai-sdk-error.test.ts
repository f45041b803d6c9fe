import { describe, expect, test } from 'vitest'
import { classifyAiSdkError, failureOf } from './ai-sdk-error.ts'

describe('an error inside a stream', () => {
  test.each<[what: unknown, expected: object]>([
    [
      { type: 'overloaded_error', message: 'busy' },
      { kind: 'provider_error', retryable: true, message: 'busy' },
    ],
    [{ error: { type: 'rate_limit_error', message: 'slow' } }, { kind: 'rate_limited', retryable: true }],
    [{ error: { code: 'insufficient_quota', message: 'pay' } }, { kind: 'quota_exceeded', retryable: false }],
    [
      { code: 'context_length_exceeded', message: 'x' },
      { kind: 'context_exceeded', retryable: false },
    ],
    [
      { message: 'no', statusCode: 401 },
      { kind: 'auth_failed', retryable: false },
    ],
    [
      { message: 'no', statusCode: 503, isRetryable: false },
      { kind: 'provider_error', retryable: false },
    ],
    ['the prompt is too long', { kind: 'context_exceeded' }],
    ['lost', { kind: 'provider_error', retryable: true, message: 'lost' }],
    [undefined, { kind: 'provider_error', retryable: true }],
    [named('AI_LoadAPIKeyError', 'set the key'), { kind: 'auth_failed', retryable: false }],
    [named('AI_UnsupportedFunctionalityError', 'no video'), { kind: 'provider_error', retryable: false }],
    [named('AI_TypeValidationError', 'odd'), { kind: 'provider_error', retryable: true }],
    [named('TimeoutError', 'late'), { kind: 'provider_error', providerCode: 'timeout', retryable: true }],
  ])('what an error part holds is thrown and named %#', (what, expected) => {
    expect(failureOf(what)).toBeInstanceOf(Error)
    expect(classifyAiSdkError(failureOf(what))).toMatchObject(expected)
  })

  test('an error names neither keys nor what stands behind the question mark of an address, and is short', () => {
    const key = 'sk-ant-api03-abcdefghijklmnop'
    const message = `POST https://u:p4ss@example.com/v1?key=hidden&x=1 with Bearer abcdefghij.klm and ${key} ${'x'.repeat(9000)}`
    const said = classifyAiSdkError(failureOf({ message, statusCode: 500 }))?.message ?? ''
    for (const secret of ['hidden', 'p4ss', 'abcdefghij', key]) expect(said).not.toContain(secret)
    expect(said).toContain('https://example.com/v1')
    expect(said.length).toBeLessThanOrEqual(2048)
  })

  test.each<[what: unknown, expected: object]>([
    [new DOMException('stop', 'AbortError'), { kind: 'aborted' }],
    [named('AbortError', 'stop'), { kind: 'aborted' }],
    [
      named('AI_APICallError', 'Cannot connect'),
      { kind: 'provider_error', providerCode: 'connection', retryable: true },
    ],
    [new TypeError('fetch failed'), { kind: 'provider_error', providerCode: 'connection', retryable: true }],
    [new Error('x', { cause: { code: 'ECONNRESET' } }), { providerCode: 'connection', retryable: true }],
  ])('what is thrown before there is a stream is named %#', (what, expected) => {
    expect(classifyAiSdkError(what)).toMatchObject(expected)
  })

  test('what is no failure of a service is left to others', () => {
    expect(classifyAiSdkError(new Error('a bug'))).toBeNull()
  })
})

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name })
}
