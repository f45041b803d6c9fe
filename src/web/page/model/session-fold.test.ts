import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { randomLog } from '../../../../test/view/random-log.ts'
import { RandomRun, shownRows } from '../../../../test/view/random-run.ts'
import { emptyView, foldEntries, foldEvent, type LogEntry, type RemoteEvent, type SessionView } from '../libero.ts'
import { cutEntry } from './cut-entry.ts'
import { createSessionFold } from './session-fold.ts'

/** Without what only folding needs, and in a form that can be compared. */
const shown = ({ rows, fold: _, ...view }: SessionView) => ({ ...view, rows: [...rows] })
const fresh = (log: readonly LogEntry[]) =>
  shown(
    foldEntries(
      emptyView,
      log.map((entry) => cutEntry(entry).entry),
    ),
  )
const durable = (entry: LogEntry): RemoteEvent => ({ durable: true, seq: entry.seq, entry })

test('WB61 the end is shown first; when all is read, the view is that of the whole log, whatever came meanwhile', () => {
  fc.assert(
    fc.property(randomLog(), fc.nat({ max: 20 }), fc.integer({ min: 1, max: 9 }), (log, late, page) => {
      const known = log.slice(0, Math.max(0, log.length - late))
      const coming = log.slice(known.length)
      const fold = createSessionFold()
      fold.begin(known.slice(-5))
      for (let at = 0; !fold.isWhole; at++) {
        const [next] = coming.splice(0, 1)
        if (next) fold.apply(durable(next))
        const read = log.slice(fold.readTo, Math.min(fold.readTo + page, fold.view.head))
        fold.addRead(read)
        if (at > 500) throw new Error('it never caught up')
      }
      for (const entry of coming) fold.apply(durable(entry))
      expect(shown(fold.view)).toEqual(fresh(log))
    }),
    { numRuns: 60 },
  )
})

describe('what is streamed', () => {
  const entry = (seq: number, body: object): LogEntry => ({ seq, id: `e${seq}`, at: seq, ...body }) as LogEntry
  const turn = (seq: number, role: string, text: string): LogEntry =>
    entry(seq, {
      type: 'turn',
      turn: { id: `t${seq}`, runId: 'r', role, content: [{ type: 'text', text }], createdAt: seq },
    })
  const log = [
    entry(1, { type: 'run_started', runId: 'r', model: 'm' }),
    turn(2, 'user', 'Hi'),
    turn(3, 'assistant', 'One'),
  ]
  const delta = (text: string): RemoteEvent =>
    ({ durable: false, type: 'text', after: 3, turnId: 't4', delta: text }) as unknown as RemoteEvent

  test('WB61 stays when the whole takes the place of the end', () => {
    const fold = createSessionFold()
    fold.begin(log.slice(2))
    fold.apply(delta('Half of '))
    expect(fold.addRead(log)).toBe(true)
    fold.apply(delta('it'))
    expect(fold.view.rows.at(-1)).toMatchObject({ id: 't4', text: 'Half of it', isOpen: true })
    expect([...fold.view.rows].map(({ id }) => id)).toEqual(['t2', 't3', 't4'])
  })

  test('WB61 is that of the run, whenever the whole takes the place of the end', () => {
    const choices = fc.array(fc.nat(2 ** 30), { maxLength: 60 })
    fc.assert(
      fc.property(choices, choices, fc.integer({ min: 1, max: 9 }), (before, after, page) => {
        const run = new RandomRun()
        for (const choice of before) run.step(choice)
        const fold = createSessionFold()
        fold.begin(run.log.slice(-3))
        const open = run.snapshot()
        if (open) fold.apply(open)
        const readOn = (): boolean => fold.addRead(run.log.slice(fold.readTo, fold.readTo + page))
        for (const choice of after) {
          const { streamed, logged } = run.step(choice)
          for (const event of streamed) fold.apply(event)
          if (logged) fold.apply(durable(logged))
          if (choice % 7 === 0) readOn()
        }
        while (!fold.isWhole) readOn()
        const snapshot = run.snapshot()
        const whole = foldEntries(emptyView, run.log)
        expect(shownRows(fold.view)).toEqual(shownRows(snapshot ? foldEvent(whole, snapshot) : whole))
      }),
      { numRuns: 300 },
    )
  })

  test('WB61 stays whole if a message or a note comes in the middle of it, and goes with the answer that replaces it', () => {
    const steer = entry(4, { type: 'input', mode: 'steer', clientKey: 'k', content: [{ type: 'text', text: 'Hurry' }] })
    const note = entry(5, { type: 'state', owner: 'x', value: 1 })
    const begun = () => {
      const fold = createSessionFold()
      fold.begin(log.slice(2))
      fold.apply(delta('Half of '))
      fold.apply(durable(steer))
      fold.apply(delta('it'))
      fold.apply(durable(note))
      return fold
    }
    const open = begun()
    expect(open.addRead([...log, steer, note])).toBe(true)
    expect(open.view.rows.at(-1)).toMatchObject({ id: 't4', text: 'Half of it', isOpen: true })
    const over = begun()
    const answer = turn(6, 'assistant', 'All of it')
    over.apply(durable(answer))
    expect(over.addRead([...log, steer, note, answer])).toBe(true)
    expect([...over.view.rows].map(({ id }) => id)).toEqual(['t2', 't3', 't6'])
  })

  test('WB66 a large result is kept short, with the facts of the whole one', () => {
    const output = Array.from({ length: 5000 }, (_, i) => `line ${i}`).join('\n')
    const fold = createSessionFold()
    const call = { type: 'tool_call', id: 'c', name: 'shell', input: { command: 'x'.repeat(9000) } }
    fold.begin([
      entry(1, { type: 'turn', turn: { id: 'a', runId: 'r', role: 'assistant', content: [call], createdAt: 1 } }),
      entry(2, { type: 'call_result', callId: 'c', outcome: 'done', output }),
      entry(3, { type: 'checkpoint', from: 1, state: { large: output } }),
    ])
    const row = fold.view.rows.at(1)
    if (row?.kind !== 'call' || !row.result) throw new Error('the call is missing')
    expect(String(row.result.output).length).toBeLessThan(3000)
    expect(String(row.input.command).length).toBeLessThan(3000)
    expect(fold.endOf(row.result)).toMatchObject({ isGood: true, summary: '5,000 lines' })
    expect([1, 2, 3].map((seq) => fold.isCut(seq))).toEqual([true, true, false])
  })
})
