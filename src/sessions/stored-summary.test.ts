import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EntryBody, LogEntry } from '../core/log.ts'
import { applyEntries, emptySummary, type StoredSummary, summaryOf } from './stored-summary.ts'

/** Entries of a log, numbered and timed. */
function logOf(...bodies: readonly unknown[]): LogEntry[] {
  return bodies.map((body, i) => ({ ...(body as EntryBody), seq: i + 1, id: `e${i + 1}`, at: 1000 + i }))
}

const storedSummaryOf = (...bodies: readonly unknown[]): StoredSummary =>
  applyEntries(emptySummary, logOf(...bodies), 0)
const summaryAfter = (...bodies: readonly unknown[]) =>
  summaryOf(storedSummaryOf(...bodies), { id: 's', isHeld: false, mail: 'none' })

const words = (text: string) => [{ type: 'text', text }]
const user = (text: string) => ({ type: 'turn', turn: { role: 'user', content: words(text) } })
const reply = (...calls: readonly string[]) => ({
  type: 'turn',
  turn: { role: 'assistant', content: calls.map((id) => ({ type: 'tool_call', id, name: 'look', input: {} })) },
})
const started = { type: 'run_started', runId: 'r', model: 'm' }
const ended = (status: string, more = {}) => ({ type: 'run_ended', runId: 'r', status, stop: '', ...more })
const asked = (callId: string, digest = 'd') => ({ type: 'approval_requested', callId, digest })
const allowed = (callId: string, digest = 'd') => ({
  ...{ type: 'approval_answered', callId, digest, decision: 'allow', by: 'ann' },
})
const result = (callId: string) => ({ type: 'call_result', callId, output: '', outcome: 'done' })

describe('the record of a log', () => {
  const id = fc.constantFrom('1', '2', '1.1')
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.constantFrom(null, undefined, {}, [], [null]),
  )
  const usage = fc.oneof(fc.record({ input: anything, output: fc.nat(9), cost: anything }), anything)
  const blocks = fc.oneof(
    fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('text'), text: anything }),
        fc.record({ type: fc.constantFrom('tool_call', 'tool_result'), id, callId: id }),
        anything,
      ),
      { maxLength: 3 },
    ),
    anything,
  )
  const body = fc.oneof(
    fc.record({ type: fc.constant('run_started'), runId: fc.constantFrom('r', 's'), processId: anything }),
    fc.record(
      {
        type: fc.constant('run_ended'),
        runId: fc.constantFrom('r', 's'),
        status: fc.constantFrom('completed', 'aborted', 'error', 'suspended', 'left'),
        error: fc.constant({ name: 'Error', message: '' }),
        dropsTo: fc.nat(20),
        sharedCrash: fc.nat(2),
      },
      { requiredKeys: ['type', 'runId', 'status'] },
    ),
    fc.record({
      type: fc.constant('turn'),
      turn: fc.oneof(fc.record({ role: fc.constantFrom('user', 'assistant'), content: blocks, usage }), anything),
      consumed: fc.oneof(fc.array(fc.constantFrom('e1', 'e2', 'e3', 'e4')), anything),
    }),
    fc.record({
      type: fc.constant('input'),
      mode: fc.constantFrom('prompt', 'answer', 'stop', 'steer'),
      content: blocks,
    }),
    fc.record({ type: fc.constant('details'), title: anything, tags: anything, tenant: anything, folder: anything }),
    fc.record({ type: fc.constantFrom('approval_requested', 'approval_answered'), callId: id, digest: anything }),
    fc.record({ type: fc.constantFrom('call_started', 'call_result'), callId: id, outcome: fc.constant('done') }),
    fc.record({ type: fc.constant('rewind'), toSeq: fc.nat(20) }),
    fc.record({ type: fc.constantFrom('parked', 'unparked', 'checkpoint', 'label', 'of a newer version') }),
    fc.record({ type: fc.constant('usage'), usage }),
    fc.record({
      type: fc.constant('state'),
      owner: fc.constant('cli'),
      value: fc.oneof(anything, fc.record({ cwd: anything })),
    }),
  )

  test('ST01 is the same in pieces as at once, also when it is stored as JSON between them', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(body, fc.boolean()), { maxLength: 20 }), (steps) => {
        const entries = logOf(...steps.map(([one]) => one))
        let summary = emptySummary
        let piece: LogEntry[] = []
        for (const [i, entry] of entries.entries()) {
          piece.push(entry)
          if (steps[i]![1]) continue
          summary = JSON.parse(JSON.stringify(applyEntries(summary, piece, piece.length)))
          piece = []
        }
        const inPieces = applyEntries(summary, piece, piece.length)
        const atOnce = applyEntries(emptySummary, entries, entries.length)
        expect(JSON.parse(JSON.stringify(inPieces))).toEqual(JSON.parse(JSON.stringify(atOnce)))
      }),
      { numRuns: 500 },
    )
  })

  test('ST01 has the types it declares and texts that every store can keep, whatever is in the log', () => {
    fc.assert(
      fc.property(fc.array(body, { maxLength: 12 }), (bodies) => {
        const summary = storedSummaryOf(...bodies)
        for (const name of ['head', 'createdAt', 'updatedAt', 'turns', 'calls', 'tokens', 'cost'] as const)
          expect(Number.isFinite(summary[name]), name).toBe(true)
        const { title = '', tenant = '', kind = '', folder = '', tags = [] } = summary
        expect(title).not.toMatch(/\p{Cc}/u)
        for (const text of [title, tenant, kind, folder, ...tags])
          expect(text.isWellFormed() && !text.includes('\0'), JSON.stringify(text)).toBe(true)
        if (summary.title !== undefined) expect(summary.title).toBe(summary.title.trim())
      }),
      { numRuns: 500 },
    )
  })
})

describe('the title', () => {
  test.each([
    ['  \n Look\n at\tthe sky ', 'Look at the sky'],
    [`${'\n'.repeat(5000)}late`, 'late'],
    ['\u001b[31mred\u0000', '[31mred'],
    ['half \ud83d', 'half \ufffd'],
    [`${'x'.repeat(198)}😀 and more`, `${'x'.repeat(198)}…`],
    ['y'.repeat(200), 'y'.repeat(200)],
  ])('of %j is its beginning on one line', (text, title) => {
    expect(storedSummaryOf(user(text)).title).toBe(title)
  })

  test('is that of the first message with a text: results and images have none', () => {
    const results = {
      type: 'turn',
      turn: { role: 'user', content: [{ type: 'tool_result', callId: '1', output: 'x' }] },
    }
    const image = { type: 'input', mode: 'prompt', content: [{ type: 'image', mediaType: 'image/png', data: '' }] }
    const followUp = { type: 'input', mode: 'followUp', content: words('And then?') }
    expect(storedSummaryOf(results, image, followUp, user('later')).title).toBe('And then?')
    expect(summaryAfter(results, image)).not.toHaveProperty('title')
  })

  test('that was set stays', () => {
    expect(storedSummaryOf({ type: 'details', title: 'Mine' }, user('hello')).title).toBe('Mine')
    expect(
      storedSummaryOf(user('hello'), { type: 'details', title: 'Mine', tags: ['a'] }, { type: 'details', tags: [] }),
    ).toMatchObject({ title: 'Mine', tags: [] })
  })
})

test('details of wrong types are left out, the right ones of the same entry count', () => {
  const odd = { type: 'details', title: 5, tags: ['a', 7, 'a', '', 'b\0'], tenant: null, kind: ['x'], folder: '/f' }
  expect(summaryAfter(odd)).toMatchObject({ tags: ['a', 'b\ufffd'], folder: '/f' })
  for (const name of ['title', 'tenant', 'kind']) expect(summaryAfter(odd)).not.toHaveProperty(name)
  expect(summaryAfter({ type: 'details', tags: 'a' }).tags).toEqual([])
})

describe('the status of a log', () => {
  test('E08 of two calls that wait for an approval, one is answered: the other still waits', () => {
    const both = [started, reply('1', '2'), asked('1'), asked('2'), allowed('1')]
    expect(storedSummaryOf(...both).status).toBe('waiting')
    expect(storedSummaryOf(...both, allowed('2')).status).toBe('working')
  })

  test('E08 a call that starts meanwhile does not end the waiting of another', () => {
    expect(storedSummaryOf(started, reply('1', '2'), asked('1'), { type: 'call_started', callId: '2' }).status).toBe(
      'waiting',
    )
  })

  test('E08 an answer to another request than the last one does not count', () => {
    const before = [started, reply('1'), asked('1'), ended('suspended')]
    expect(storedSummaryOf(...before, allowed('1', 'other')).isAnswered).toBeUndefined()
    expect(storedSummaryOf(...before, allowed('1')).isAnswered).toBe(true)
  })

  test('E08 a call that was never answered still waits while another run is under way', () => {
    const again = { ...started, runId: 'again' }
    expect(storedSummaryOf(started, reply('1'), asked('1'), ended('suspended'), again).status).toBe('waiting')
  })

  test('E08 a suspended session whose calls got results otherwise waits no more', () => {
    const before = [started, reply('1', '2'), asked('1'), ended('suspended')]
    expect(storedSummaryOf(...before, result('1')).status).toBe('waiting')
    expect(storedSummaryOf(...before, result('1'), result('2'), user('never mind')).status).toBe('idle')
  })

  test('E08 the end of an earlier run does not end the later one', () => {
    const later = { ...started, runId: 'later' }
    expect(storedSummaryOf(started, later, ended('completed'))).toMatchObject({ status: 'working', isActive: true })
  })

  test('E08 a parked session stays so until it is unparked, and then is what it was', () => {
    const crash = [started, ended('error'), { type: 'parked', reason: '' }]
    expect(storedSummaryOf(...crash, { ...started, runId: '2' }, { ...ended('completed'), runId: '2' }).status).toBe(
      'parked',
    )
    expect(summaryAfter(...crash)).not.toHaveProperty('attention')
    expect(summaryAfter(...crash, { type: 'unparked' })).toMatchObject({
      status: 'interrupted',
      attention: 'interrupted',
    })
  })

  test('E08 a rewind leaves nothing that waits or was answered', () => {
    const rewound = [started, reply('1'), asked('1'), ended('suspended'), allowed('1'), { type: 'rewind', toSeq: 1 }]
    expect(summaryAfter(...rewound).status).toBe('idle')
    expect(summaryAfter(...rewound)).not.toHaveProperty('attention')
  })
})

test('a turn of another version counts without its broken parts', () => {
  const broken = {
    type: 'turn',
    turn: { role: 'assistant', content: 'text', usage: { input: '5', output: 3, cost: NaN } },
  }
  expect(storedSummaryOf(broken, { type: 'turn' }, { type: 'usage' })).toMatchObject({
    turns: 1,
    calls: 0,
    tokens: 3,
    cost: 0,
  })
})

test('many messages that are never delivered do not make the record large', () => {
  const messages = Array.from({ length: 5000 }, () => ({ type: 'input', mode: 'steer', content: words('go') }))
  const summary = storedSummaryOf(...messages)
  expect(JSON.stringify(summary).length).toBeLessThan(10_000)
  expect(
    storedSummaryOf(...messages, { ...user('go'), consumed: logOf(...messages).map(({ id: one }) => one) }).undelivered,
  ).toEqual([])
})
