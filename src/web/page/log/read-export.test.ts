import { expect, test } from 'vitest'
import { createSpans } from './log-model.ts'
import { fileSource, readExport } from './read-export.ts'

const entry = (seq: number, body: object) => JSON.stringify({ seq, id: `e${seq}`, at: seq, ...body })
const call = { type: 'tool_call', id: 'c', name: 'read', input: {} }
const file = [
  '{"libero":"session","version":1,"id":"s","entries":4}',
  entry(1, { type: 'run_started', runId: 'r', model: 'm' }),
  '{"libero":"blob","name":"b","data":""}',
  entry(2, { type: 'turn', turn: { id: 't', runId: 'r', role: 'assistant', content: [call], createdAt: 1 } }),
  entry(3, { type: 'call_result', callId: 'c', outcome: 'done', output: 'x', isError: true }),
  entry(4, { type: 'run_ended', runId: 'r', status: 'completed', stop: 'end' }),
  '{"libero":"child","id":"k","parent":"s","entries":1}',
  entry(1, { type: 'label', text: 'of the child' }),
  '{"libero":"end","sessions":2}',
].join('\n')

test('WB79 an export is read: the entries of its session, without blobs and sub-agents', async () => {
  const entries = readExport(file)
  expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
  const source = fileSource(entries)
  expect((await source.read(1, 3)).map(({ seq }) => seq)).toEqual([2, 3])
  expect(await source.read(4)).toEqual([])
})

test('WB79 the event lines of a run, and the lines of zot, become entries', () => {
  const events = [
    '{"type":"hello","events":1}',
    `{"durable":true,"seq":1,"entry":${entry(1, { type: 'label', text: 'x' })}}`,
  ]
  expect(readExport([...events, '{"durable":false,"type":"text","delta":"a"}'].join('\n'))).toMatchObject([
    { seq: 1, type: 'label' },
  ])
  const zot = [
    { type: 'user_message', content: [{ type: 'text', text: 'hi' }], time: '2026-01-02T03:04:05Z' },
    { type: 'turn_start', step: 1 },
    { type: 'text_delta', delta: 'I' },
    {
      ...{ type: 'assistant_message', time: '2026-01-02T03:04:06Z' },
      content: [
        { type: 'text', text: 'I look' },
        { type: 'tool_call', id: 'c', name: 'read', args: { path: 'x' } },
      ],
    },
    { type: 'tool_result', id: 'c', is_error: true, content: [{ type: 'text', text: 'none' }] },
    { type: 'done' },
  ]
  expect(readExport(zot.map((frame) => JSON.stringify(frame)).join('\n'))).toMatchObject([
    { seq: 1, type: 'run_started' },
    { turn: { role: 'user', content: [{ text: 'hi' }] } },
    { turn: { role: 'assistant', content: [{ text: 'I look' }, { name: 'read', input: { path: 'x' } }] } },
    { type: 'call_result', callId: 'c', isError: true, output: 'none' },
    { type: 'run_ended', runId: '1', status: 'completed' },
  ])
})

test('WB79 a file that is no export is refused with the line that is wrong', () => {
  expect(() => readExport('{"seq":1,"type":"label"}\nnot json')).toThrow('Line 2 is no JSON')
  expect(() => readExport('{"hello":1}')).toThrow('Line 1 is no entry of a log')
  expect(() => readExport('')).toThrow('The file has no entries')
})

test('WB79 lanes: runs and calls last from their first entry to their last', () => {
  const spans = createSpans()
  for (const one of readExport(file)) spans.add(one)
  expect(spans.all()).toEqual([
    { lane: 'runs', id: 'r', label: 'm', from: 1, to: 4, outcome: 'good' },
    { lane: 'calls', id: 'c', label: 'read', from: 2, to: 3, outcome: 'bad' },
  ])
})
