import { describe, expect, test } from 'vitest'
import { check, digestOf, snapshotOf } from '../../crash/checker.ts'
import type { Evidence, Note, NoteOf } from '../../crash/evidence.ts'
import { announcementOf } from '../../crash/plan.ts'
import type { EntryBody, LogEntry } from '../../src/core/log.ts'
import type { SessionContentBlock } from '../../src/core/turn.ts'
import { applyEntries, emptySummary, summaryOf } from '../../src/sessions/stored-summary.ts'

const root = 'trial'

/** A session in which all is well: a prompt, three calls of the three kinds, a steering message, an approval, an end. */
function story(): LogEntry[] {
  const calls = ['a', 'b', 'c', 'd'].map((id) => ({ id, name: id, input: {} }))
  const blocks = calls.map((call): SessionContentBlock => ({ type: 'tool_call', ...call }))
  const bodies: EntryBody[] = [
    { type: 'run_started', runId: 'r1', model: 'm' },
    { type: 'turn', turn: turn('t0', 'user', [text('Begin.')]), clientKey: 'prompt' },
    { type: 'turn', turn: turn('t1', 'assistant', [text(announcementOf(0, calls)), ...blocks]), stop: 'tool_use' },
    { type: 'call_started', callId: 'b', key: 'trial/b', attempt: 1, replay: 'keyed' },
    { type: 'call_started', callId: 'c', key: 'trial/c', attempt: 1, replay: 'opaque' },
    { type: 'input', mode: 'steer', clientKey: 'steer', content: [text('Stop.')] },
    { type: 'call_result', callId: 'a', output: 'seen', outcome: 'done' },
    { type: 'call_result', callId: 'b', output: 'paid', outcome: 'done' },
    { type: 'call_result', callId: 'c', output: 'sent', outcome: 'done' },
    { type: 'approval_requested', callId: 'd', digest: 'this' },
    { type: 'approval_answered', callId: 'd', digest: 'this', decision: 'allow', by: 'me', clientKey: 'answer' },
    { type: 'call_result', callId: 'd', output: 'deployed', outcome: 'done' },
    { type: 'turn', turn: turn('t2', 'user', [text('Stop.')]), consumed: ['e6'] },
    { type: 'turn', turn: turn('t3', 'assistant', [text(announcementOf(1, []))]), stop: 'end' },
    { type: 'run_ended', runId: 'r1', status: 'completed', stop: 'end' },
  ]
  return bodies.map((body, i) => ({ ...body, seq: i + 1, id: `e${i + 1}`, at: 1000 + i }))
}

function text(text: string): SessionContentBlock {
  return { type: 'text', text }
}

function turn(id: string, role: 'user' | 'assistant', content: readonly SessionContentBlock[]) {
  return { id, runId: 'r1', role, content, createdAt: 0 }
}

function begin(callId: string, replay: 'pure' | 'keyed' | 'opaque', more: Partial<NoteOf<'begin'>> = {}): Note {
  const about = { pid: 1, time: 0, writer: 'w1', epoch: 1, session: root, attempt: 1 }
  return { kind: 'begin', ...about, tool: callId, callId, key: `trial/${callId}`, replay, ...more }
}

const shownAs = (entry: LogEntry): Note => {
  const { seq, id, type } = entry
  const callId = entry.type === 'call_result' && { callId: entry.callId }
  return { kind: 'event', session: root, seq, id, type, digest: digestOf(entry), ...callId }
}

/** What the worker saw of that story. */
function notesAbout(entries: readonly LogEntry[]): Note[] {
  return [
    { kind: 'lease', session: root, epoch: 1, head: 0, writer: 'w1' },
    { kind: 'append', session: root, epoch: 1, ids: entries.map(({ id }) => id) },
    { kind: 'ack', of: 'prompt', clientKey: 'prompt' },
    begin('a', 'pure'),
    begin('b', 'keyed'),
    begin('c', 'opaque'),
    begin('d', 'opaque'),
    ...entries.map(shownAs),
    { kind: 'ack', of: 'tool', session: root, callId: 'a' },
    { kind: 'ack', of: 'message', clientKey: 'steer' },
    { kind: 'ack', of: 'answer', clientKey: 'answer' },
    { kind: 'ack', of: 'turn', session: root, turnId: 't1' },
    { kind: 'ack', of: 'run', status: 'completed', text: announcementOf(1, []) },
  ]
}

function evidence(
  change: (entries: LogEntry[], notes: Note[]) => Partial<Evidence> | undefined | void = () => {},
): Evidence {
  const entries = story()
  const notes = notesAbout(entries)
  const changed = change(entries, notes)
  const effects = new Set(['trial/b'])
  const base = { root, sessions: { [root]: entries }, waiting: [], notes, effects, problems: [] }
  const sessions = changed?.sessions ?? base.sessions
  const summaries = Object.fromEntries(
    Object.entries(sessions).map(([id, log]) => [id, summariesOf(id, log, changed?.waiting)]),
  )
  const attention = Object.keys(summaries).filter((id) => summaries[id]?.[1]?.attention !== undefined)
  const found = { summaries, attention, isQuiet: true, ledger: (changed?.notes ?? notes).length }
  return { ...base, ...found, isDone: true, ...changed }
}

function summariesOf(
  id: string,
  entries: readonly LogEntry[],
  waiting: Evidence['waiting'] = [],
): Evidence['summaries'][string] {
  const mail = waiting.some(({ session }) => session === id) ? 'messages' : 'none'
  const summary = summaryOf(applyEntries(emptySummary, entries, 0), { id, isHeld: false, mail })
  return [summary, summary]
}

/** Takes an entry out and closes the gap, as if it had never been written. */
function without(entries: LogEntry[], notes: Note[], gone: (entry: LogEntry) => boolean): Partial<Evidence> {
  const left = entries.filter((entry) => !gone(entry)).map((entry, i) => ({ ...entry, seq: i + 1 }))
  return { sessions: { [root]: left }, notes: notes.filter(({ kind }) => kind !== 'event') }
}

const idsOf = (found: ReturnType<typeof check>): string[] => [...new Set(found.map(({ id }) => id))]

test('a session in which all is well breaks no promise, at any moment', () => {
  expect(check(evidence())).toEqual([])
  for (let seen = 0; seen <= 15; seen++) {
    const found = evidence((entries) => ({
      isDone: false,
      sessions: { [root]: entries.slice(0, seen) },
      notes: notesAbout(entries).filter((note) => note.kind === 'append' || note.kind === 'lease'),
    }))
    expect(check(found)).toEqual([])
  }
})

test('what an earlier check saw is compared', () => {
  const earlier = snapshotOf(evidence())
  expect(check({ ...evidence(), earlier })).toEqual([])
})

describe('a planted violation is found', () => {
  const planted: Record<string, [id: string, change: Parameters<typeof evidence>[0]]> = {
    'a prompt is lost': [
      'I1',
      (_, notes) => void notes.push({ kind: 'ack', of: 'prompt', clientKey: 'another prompt' }),
    ],
    'a steering message is lost': ['I1', (entries, notes) => without(entries, notes, ({ type }) => type === 'input')],
    'an answer is lost': [
      'I1',
      (_, notes) => void notes.push({ kind: 'ack', of: 'answer', clientKey: 'another answer' }),
    ],
    'a tool result that was told is lost': [
      'I1',
      (_, notes) => void notes.push({ kind: 'ack', of: 'tool', session: 'trial/x', callId: 'a' }),
    ],
    'a turn that was told is lost': [
      'I1',
      (_, notes) => void notes.push({ kind: 'ack', of: 'turn', session: root, turnId: 't9' }),
    ],
    'a final answer is lost': [
      'I1',
      (_, notes) => void notes.push({ kind: 'ack', of: 'run', status: 'completed', text: 'Land!' }),
    ],
    'a message is never delivered': [
      'I1',
      (entries, notes) => {
        Object.assign(entries[12]!, { consumed: [] })
        return { notes: notes.filter(({ kind }) => kind !== 'event') }
      },
    ],
    'a message waits for ever': ['I1', () => ({ waiting: [{ session: root, clientKey: 'steer-7', mode: 'steer' }] })],
    'a turn lacks a call': [
      'I2',
      (entries, notes) => {
        const { turn } = entries[2] as Extract<LogEntry, { type: 'turn' }>
        entries[2] = { ...entries[2], turn: { ...turn, content: turn.content.slice(0, -1) } } as LogEntry
        return { notes: notes.filter(({ kind }) => kind !== 'event') }
      },
    ],
    'a turn is half a text': [
      'I2',
      (entries, notes) => {
        entries[13] = { ...entries[13], turn: turn('t3', 'assistant', [text('Step')]) } as LogEntry
        return { notes: notes.filter(({ kind }) => kind !== 'event' && kind !== 'ack') }
      },
    ],
    'a result has no call': [
      'I2',
      (entries, notes) => {
        entries[6] = { ...entries[6], callId: 'z' } as LogEntry
        return { isDone: false, notes: notes.filter(({ kind }) => kind !== 'event' && kind !== 'ack') }
      },
    ],
    'a turn stands there twice': [
      'I2',
      (entries, notes) => {
        entries[13] = { ...entries[13], turn: turn('t2', 'assistant', [text(announcementOf(1, []))]) } as LogEntry
        return { notes: notes.filter(({ kind }) => kind !== 'event') }
      },
    ],
    'a call has two results': [
      'I3',
      (entries, notes) => {
        entries[7] = { ...entries[7], callId: 'a' } as LogEntry
        return { isDone: false, notes: notes.filter(({ kind }) => kind !== 'event' && kind !== 'begin') }
      },
    ],
    'a call has no result at the end': [
      'I3',
      (entries, notes) => without(entries, notes, (entry) => entry.type === 'call_result' && entry.callId === 'b'),
    ],
    'a run has no end': [
      'I3',
      (entries, notes) =>
        without(
          entries,
          notes.filter(({ kind }) => kind !== 'ack'),
          ({ type }) => type === 'run_ended',
        ),
    ],
    'a call runs again after its result was shown': ['I4', (_, notes) => void notes.push(begin('a', 'pure'))],
    'a call runs again that had a result at the last check': [
      'I4',
      (entries, notes) => {
        const silent = notes.filter(({ kind }) => kind !== 'event')
        const sessions = { [root]: entries }
        const earlier = snapshotOf({ ...evidence(), sessions, ledger: silent.length })
        return { notes: [...silent, begin('a', 'pure')], earlier }
      },
    ],
    'an opaque call begins twice': ['I5', (_, notes) => void notes.splice(5, 0, begin('c', 'opaque'))],
    'a call is done under two keys': [
      'I5',
      (_, notes) => {
        notes.splice(5, 0, begin('b', 'keyed', { key: 'another' }))
        return { effects: new Set(['trial/b', 'another']) }
      },
    ],
    'two calls have one key': ['I5', (_, notes) => void notes.splice(5, 0, begin('a.1', 'keyed', { key: 'trial/b' }))],
    'a writer that was shut out writes': [
      'I6',
      (_, notes) => void notes.push({ kind: 'lease', session: root, epoch: 2, head: 10, writer: 'w2' }),
    ],
    'epochs go back': [
      'I6',
      (entries, notes) => {
        const [early, late] = [entries.slice(0, 5), entries.slice(5)].map((part) => part.map(({ id }) => id))
        const others = notes.filter(({ kind }) => kind !== 'append')
        return {
          notes: [
            ...others,
            { kind: 'append', session: root, epoch: 2, ids: early! },
            { kind: 'append', session: root, epoch: 1, ids: late! },
          ],
        }
      },
    ],
    'an epoch is given twice': [
      'I6',
      (_, notes) => void notes.push({ kind: 'lease', session: root, epoch: 1, head: 15, writer: 'w2' }),
    ],
    'an entry without a known writer': ['I6', (_, notes) => ({ notes: notes.filter(({ kind }) => kind !== 'append') })],
    'a number is missing': [
      'I7',
      (entries, notes) => {
        entries.splice(14, 1, { ...entries[14]!, seq: 16 })
        return { notes: notes.filter(({ kind }) => kind !== 'event') }
      },
    ],
    'what was shown is gone': [
      'I7',
      (entries) => ({
        isDone: false,
        sessions: { [root]: entries.slice(0, 14) },
        notes: [...notesAbout(entries)].filter(({ kind }) => kind !== 'ack'),
      }),
    ],
    'what was shown is now something else': [
      'I7',
      (entries) => void Object.assign(entries[6]!, { output: 'something else' }),
    ],
    'an entry changes between two checks': [
      'I7',
      (entries, notes) => {
        const earlier = snapshotOf(evidence())
        Object.assign(entries[6]!, { output: 'something else' })
        return { earlier, notes: notes.filter(({ kind }) => kind !== 'event') }
      },
    ],
    'the summary is older than the log': [
      'I9',
      (entries) => ({ summaries: { [root]: summariesOf(root, entries.slice(0, 9)) }, attention: [] }),
    ],
    'the summary counts wrong': [
      'I9',
      (entries) => ({
        summaries: { [root]: summariesOf(root, entries).map((one) => ({ ...one!, calls: 1 })) as never },
      }),
    ],
    'a session that needs attention is not listed': [
      'I9',
      (entries, notes) => ({
        isDone: false,
        sessions: { [root]: entries.slice(0, 9) },
        notes: notes.filter(({ kind }) => kind === 'append' || kind === 'lease'),
        summaries: { [root]: summariesOf(root, entries.slice(0, 9)) },
        attention: [],
      }),
    ],
    'the store does not open': ['I8', () => ({ problems: ['file is not a database'] })],
    'an answer to something else counts': [
      'approval',
      (entries, notes) => {
        Object.assign(entries[10]!, { digest: 'that' })
        return { notes: notes.filter(({ kind }) => kind !== 'event') }
      },
    ],
  }
  test.each(Object.entries(planted))('%s', (_, [id, change]) => {
    expect(idsOf(check(evidence(change)))).toEqual([id])
  })
})

test('a process that was shut out may finish what it had begun', () => {
  const found = evidence((entries, notes) => {
    const results = new Set(entries.slice(6).map(({ id }) => id))
    const others = notes.filter(({ kind }) => kind !== 'append')
    return {
      notes: [
        ...others,
        { kind: 'lease', session: root, epoch: 2, head: 6, writer: 'w2' },
        { kind: 'append', session: root, epoch: 1, ids: entries.slice(0, 6).map(({ id }) => id) },
        { kind: 'append', session: root, epoch: 2, ids: [...results] },
        begin('a', 'pure'),
      ],
    }
  })
  expect(check(found)).toEqual([])
})
