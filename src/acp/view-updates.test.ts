import { expect, test } from 'vitest'
import type { LogEntry } from '../core/log.ts'
import type { AgentEvent } from '../events/events.ts'
import { emptyView, foldEvent } from '../view/session-view.ts'
import type { SessionUpdate } from './protocol.ts'
import { ViewUpdates } from './view-updates.ts'

type Chunk = Extract<SessionUpdate, { sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' }>

/** The updates of a client that sees the view after each event. */
function updatesAfter(events: readonly AgentEvent[]): SessionUpdate[] {
  const updates = new ViewUpdates({ cwd: '/', terminalOf: () => undefined, showsCompaction: true })
  let view = emptyView
  return events.flatMap((event) => {
    view = foldEvent(view, event)
    return updates.next(view, { isIdle: false })
  })
}

const delta = (type: 'text' | 'thinking', text: string): AgentEvent =>
  ({ durable: false, type, after: 0, runId: 'r', turnId: 't', attempt: 1, delta: text }) as never
const failed = {
  durable: false,
  type: 'stream_void',
  after: 0,
  runId: 'r',
  turnId: 't',
  attempt: 1,
  reason: 'x',
} as never
const entry = (body: object, seq: number): AgentEvent => {
  const whole = { id: `e${seq}`, seq, at: 1, ...body } as LogEntry
  return { durable: true, seq, entry: whole }
}

const said = (updates: readonly SessionUpdate[]): string[] =>
  (updates as Chunk[]).map(({ sessionUpdate, messageId, content }) => {
    return `${sessionUpdate === 'agent_message_chunk' ? 'says' : 'thinks'} ${messageId}: ${'text' in content ? content.text : ''}`
  })

test('AC25 text and thoughts are sent as they come, each once', () => {
  const content = [
    { type: 'thinking', text: 'hmm' },
    { type: 'text', text: 'Hello, you' },
  ]
  const turn = { id: 't', runId: 'r', role: 'assistant', createdAt: 1, content }
  const events = [
    delta('thinking', 'hmm'),
    delta('text', 'Hello'),
    delta('text', ', you'),
    entry({ type: 'turn', turn }, 1),
  ]
  expect(said(updatesAfter(events))).toEqual(['thinks t-thought: hmm', 'says t: Hello', 'says t: , you'])
})

test('AC25 a reply that breaks off and begins alike goes on where it was; another one is a message of its own', () => {
  const alike = [delta('text', 'Hello'), failed, delta('text', 'Hel'), delta('text', 'lo, you')]
  expect(said(updatesAfter(alike))).toEqual(['says t: Hello', 'says t: , you'])
  const other = [delta('text', 'Hello'), failed, delta('text', 'Good'), delta('text', ' day')]
  expect(said(updatesAfter(other))).toEqual(['says t: Hello', 'says t.2: Good', 'says t.2:  day'])
})

test('AC25 a summary of the conversation is sent to clients that show it', () => {
  const compaction = { type: 'compaction', toSeq: 0, summary: [{ type: 'text', text: 'short' }] }
  expect(updatesAfter([entry(compaction, 1)])).toEqual([
    {
      sessionUpdate: 'compaction_update',
      compactionId: 'e1',
      status: 'completed',
      summary: [{ type: 'text', text: 'short' }],
    },
  ])
})
