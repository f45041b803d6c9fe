import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { randomLog, withoutLive } from '../../test/view/random-log.ts'
import type { LogEntry } from '../core/log.ts'
import { Transcript } from '../core/transcript.ts'
import { textOf } from '../core/turn.ts'
import { applyEntries, emptySummary, summaryOf } from '../sessions/stored-summary.ts'
import type { CallRow, Row } from './rows.ts'
import { emptyView, foldEntries, type SessionView } from './session-view.ts'
import { createViewHistory } from './view-history.ts'

const kinds = (view: SessionView): string[] => [...view.rows].map(({ kind }) => kind)

describe('folding', () => {
  test('SV09 in pieces is the same as at once, for random logs', () => {
    fc.assert(
      fc.property(randomLog(), fc.nat(100), (log, cut) => {
        const at = cut % (log.length + 1)
        const pieces = foldEntries(foldEntries(emptyView, log.slice(0, at)), log.slice(at))
        expect(withoutLive(pieces)).toEqual(withoutLive(foldEntries(emptyView, log)))
      }),
      { numRuns: 200 },
    )
  })

  test('SV10 an entry leaves the rows that it does not concern as they are, for random logs', () => {
    fc.assert(
      fc.property(randomLog(), (log) => {
        let view = emptyView
        for (const entry of log) {
          const next = foldEntries(view, [entry])
          const before = new Set<Row>(view.rows)
          const kept = [...next.rows].filter((row) => before.has(row)).length
          if (entry.type !== 'rewind') expect(kept).toBeGreaterThanOrEqual(view.rows.length - 1)
          view = next
        }
      }),
      { numRuns: 100 },
    )
  })

  test('SV08 has the conversation that the model gets, for random logs', () => {
    fc.assert(
      fc.property(randomLog(), (log) => {
        const view = foldEntries(emptyView, log)
        const transcript = new Transcript()
        for (const entry of log) transcript.apply(entry)
        const said = [...view.rows].flatMap((row) => {
          if (row.kind === 'message') return textOf({ role: 'user', content: row.content })
          return row.kind === 'answer' ? row.text : []
        })
        const heard = transcript.turns.map((turn) => textOf(turn)).filter((text) => text !== '')
        const isDelivered = log.every((entry) => entry.type !== 'turn' || !entry.consumed?.length)
        if (isDelivered) expect(said).toEqual(heard)
        expect(view.queue.map(({ id }) => id)).toEqual(transcript.inbox.map(({ id }) => id))
      }),
      { numRuns: 200 },
    )
  })

  test('SV08 has the status that a store tells of the session, for random logs', () => {
    fc.assert(
      fc.property(randomLog(), (log) => {
        let view = emptyView
        let summary = emptySummary
        for (const entry of log) {
          view = foldEntries(view, [entry])
          summary = applyEntries(summary, [entry], 0)
          expect([entry, view.status]).toEqual([
            entry,
            summaryOf(summary, { id: 's', isHeld: true, mail: 'none' }).status,
          ])
        }
      }),
      { numRuns: 200 },
    )
  })

  test('SV08 has the status of its last run: after a rewind, unparking, a crash and an answer that came later', () => {
    const log = (...bodies: object[]): LogEntry[] =>
      bodies.map((body, i) => ({ seq: i + 1, id: `e${i + 1}`, at: i, ...body }) as LogEntry)
    const started = { type: 'run_started', runId: 'r', model: 'm' }
    const ended = (status: string, more = {}): object => ({
      type: 'run_ended',
      runId: 'r',
      status,
      stop: status,
      ...more,
    })
    const block = { type: 'tool_call', id: 'c', name: 'mail', input: {} }
    const turn = { id: 't', runId: 'r', role: 'assistant', createdAt: 0, content: [block] }
    const asked = [
      { type: 'turn', turn },
      { type: 'approval_requested', callId: 'c', digest: 'd', request: {} },
    ]
    const error = { name: 'Error', message: 'no' }
    const statusAfter = (...bodies: object[]): string => foldEntries(emptyView, log(...bodies)).status
    expect(statusAfter(started, ...asked)).toBe('waiting')
    expect(statusAfter(started, ...asked, ended('suspended'), { type: 'rewind', toSeq: 0 })).toBe('idle')
    expect(statusAfter(started, ended('error', { error }), { type: 'rewind', toSeq: 0 })).toBe('idle')
    expect(statusAfter(started, ended('error', { error }), { type: 'parked', reason: '' }, { type: 'unparked' })).toBe(
      'failed',
    )
    expect(statusAfter(started, ended('error', { stop: 'crashed' }))).toBe('interrupted')
    expect(statusAfter(started, ended('left'))).toBe('interrupted')
    expect(statusAfter({ type: 'parked', reason: '' }, started)).toBe('parked')
    // The end of a log alone.
    expect(foldEntries({ ...emptyView, head: 7 }, [{ ...log(ended('error', { error }))[0]!, seq: 8 }]).status).toBe(
      'failed',
    )
  })

  test('CK03 an undo brings rows back as they were, except their numbers; a new turn ends what is remembered of them', () => {
    const at = (seq: number, body: object): LogEntry => ({ seq, id: `e${seq}`, at: seq, ...body }) as LogEntry
    const turn = (id: string, role: string, ...content: object[]): object => ({
      ...{ type: 'turn', turn: { id, role, runId: 'r', createdAt: 0, content } },
    })
    const text = (said: string): object => ({ type: 'text', text: said })
    const call = turn('b', 'assistant', text('I mail.'), { type: 'tool_call', id: 'c', name: 'mail', input: {} })
    const result = { type: 'tool_result', callId: 'c', output: 'no', isError: true }
    const edits = [{ status: 'denied' }]
    const log = [
      at(1, { type: 'input', mode: 'steer', clientKey: 'k', content: [text('Mail')] }),
      at(2, { ...turn('a', 'user', text('Mail')), consumed: ['e1'] }),
      at(3, call),
      at(4, { type: 'approval_requested', callId: 'c', digest: 'd', reason: 'why', origin: { layer: 'user' } }),
      at(5, { type: 'approval_answered', callId: 'c', digest: 'd', decision: 'deny', by: 'ann' }),
      at(6, { type: 'call_result', callId: 'c', outcome: 'blocked', output: 'no', isError: true, details: { edits } }),
      at(7, turn('z', 'assistant', text('It was denied.'))),
    ]
    const undo = (seq: number): LogEntry[] => [
      at(seq, { ...turn('a', 'user', text('Mail')), consumed: ['e1'] }),
      at(seq + 1, call),
      at(seq + 2, turn('results', 'user', result)),
      at(seq + 3, turn('z', 'assistant', text('It was denied.'))),
    ]
    const before = foldEntries(emptyView, log)
    let view = before
    for (const seq of [8, 13]) view = foldEntries(view, [at(seq, { type: 'rewind', toSeq: 0 }), ...undo(seq + 1)])
    const [message, answer, asked, last] = [...before.rows]
    const notices = [expect.objectContaining({ kind: 'notice' })]
    expect([...view.rows]).toEqual([
      ...notices,
      { ...message, seq: 14, from: 14 },
      { ...answer, seq: 15 },
      { ...asked, seq: 15, result: { ...(asked as CallRow).result, seq: 16 } },
      { ...last, seq: 17 },
    ])
    // Between the call and its result, as the conversation.
    expect(kinds(foldEntries(view, [at(18, { type: 'rewind', toSeq: 15 })]))).toEqual(['notice', 'message', 'notice'])
    const other = foldEntries(view, [at(18, { type: 'rewind', toSeq: 0 }), at(19, turn('n', 'user', text('Else')))])
    expect(other.fold).not.toHaveProperty('takenBack')
    expect(foldEntries(other, [at(20, call)]).rows.at(-1)).not.toHaveProperty('approvals')
  })

  test('an entry that the view has already changes nothing, and one that is too early is an error', () => {
    const [log] = fc.sample(randomLog({ minLength: 5 }), { seed: 1, numRuns: 1 })
    const view = foldEntries(emptyView, log!)
    expect(foldEntries(view, log!)).toBe(view)
    expect(() => foldEntries(emptyView, log!.slice(2))).toThrow('ends with entry 0, and entry 3 does not follow it')
  })

  test('SV11 the view at any entry of the past is that of a fold up to it', async () => {
    const log = Array.from({ length: 1700 }, (_, i) => ({
      ...{ seq: i + 1, id: `e${i}`, at: i, type: 'label' as const, text: `${i}` },
    }))
    const reads: number[] = []
    const history = createViewHistory((after, to) => {
      reads.push(to - after)
      return log.slice(after, to)
    })
    for (const seq of [1700, 0, 1, 499, 500, 501, 1234])
      expect(withoutLive(await history.at(seq))).toEqual(withoutLive(foldEntries(emptyView, log.slice(0, seq))))
    expect(Math.max(...reads)).toBe(500)
    await expect(history.at(1701)).rejects.toThrow('has no entry 1701; its last one is 1700')
    for (const wrong of [-1, 1.5, Number.NaN])
      await expect(history.at(wrong)).rejects.toThrow(`by its number, or 0 for none; got ${wrong}`)
  })
})
