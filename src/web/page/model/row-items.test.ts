import fc from 'fast-check'
import { expect, test } from 'vitest'
import { randomLog } from '../../../../test/view/random-log.ts'
import { emptyView, foldEntries, type LogEntry } from '../libero.ts'
import { itemAt, itemsOf } from './row-items.ts'

test('WB62 the items of a view that grows are those of the view as it is, and what did not change is the same', () => {
  fc.assert(
    fc.property(randomLog(), (log) => {
      let view = emptyView
      let items = itemsOf(view.rows, undefined)
      for (const entry of log) {
        const before = { rows: view.rows, items }
        view = foldEntries(view, [entry])
        items = itemsOf(view.rows, before)
        expect(items).toEqual(itemsOf(view.rows, undefined))
      }
      for (const [place, item] of items.entries()) for (const row of item.rows) expect(itemAt(items, row)).toBe(place)
    }),
    { numRuns: 60 },
  )
})

test('WB66 files that were read one after the other are one item; a failed call is its own', () => {
  const call = (id: string, name: string) => ({ type: 'tool_call', id, name, input: { path: id } })
  const bodies = [
    turn('a', [call('1', 'read'), call('2', 'read')]),
    done('1'),
    done('2'),
    turn('b', [call('3', 'read'), call('4', 'read'), call('5', 'edit')]),
    done('3'),
    { ...done('4'), isError: true },
    done('5'),
  ]
  const log = bodies.map((body, i) => ({ seq: i + 1, id: `e${i}`, at: i, ...body })) as unknown as LogEntry[]
  const { rows } = foldEntries(emptyView, log)
  const ids = itemsOf(rows, undefined).map((item) => item.rows.map((row) => rows.at(row)!.id))
  expect(ids).toEqual([['1', '2', '3'], ['4'], ['5']])
})

const turn = (id: string, content: readonly object[]) => ({
  type: 'turn',
  turn: { id, runId: 'r', role: 'assistant', content, createdAt: 1 },
})
const done = (callId: string) => ({ type: 'call_result', callId, outcome: 'done', output: 'ok' })
