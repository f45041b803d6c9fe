import { expect, test } from 'vitest'
import { retryNotice } from './retry-notice.ts'

test.each([
  [
    'No answer from 127.0.0.1:9: connect ECONNREFUSED 127.0.0.1:9; check the address, the headers and the network',
    1600,
    '… the service at 127.0.0.1:9 does not answer (connect ECONNREFUSED 127.0.0.1:9); trying again in 2 s',
  ],
  [
    'No answer from 127.0.0.1:9: write EPROTO 402D:error:0A00010B:SSL routines:\n; check the address, the headers and the network',
    300,
    '… the service at 127.0.0.1:9 does not answer (EPROTO); trying again',
  ],
  ['HTTP 529: Overloaded', undefined, '… the service broke off (HTTP 529: Overloaded); trying again'],
  ['a\u001b[31mred\nword', 999, '… the service broke off (a␛[31mred\\nword); trying again'],
])('%j', (reason, delayMs, said) => {
  expect(retryNotice({ reason, ...(delayMs !== undefined && { delayMs }) }, false)).toBe(said)
})

test('text that is already printed is declared void', () => {
  expect(retryNotice({ reason: 'overloaded', delayMs: 5000 }, true)).toBe(
    '… the service broke off (overloaded); ignore its text so far; trying again in 5 s',
  )
})

test.each([
  [
    'Provider "mine" failed: the stream stalled: no content for 120 s; for longer pauses raise betweenContentMs of withWatchdog (0 = off)',
    '… the service broke off (the stream stalled: no content for 120 s); trying again',
  ],
  [
    'Provider "mine" failed: a.test closed the connection before its answer was complete; send the request again',
    '… the service broke off (a.test closed the connection before its answer was complete); trying again',
  ],
])('R09 the notice names the failure, without advice for programmers: %j', (reason, said) => {
  expect(retryNotice({ reason }, false)).toBe(said)
})

test('T06 a shortened conversation is named as such, not as a failure of the service', () => {
  expect(retryNotice({ reason: 'the conversation was made shorter' }, false)).toBe(
    '… the conversation did not fit into the context of the model, and was made shorter; trying again',
  )
})
