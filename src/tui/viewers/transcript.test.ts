import { expect, test } from 'vitest'
import { handKeyboard } from '../../../test/cli/person-kit.ts'
import { type HeadlessTerminal, headlessTerminal } from '../../../test/tui/headless-terminal.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { PersistentList } from '../../view/persistent-list.ts'
import type { Row } from '../../view/rows.ts'
import { emptyView, foldEntries, type SessionView } from '../../view/session-view.ts'
import { type TranscriptOptions, transcriptView } from './transcript.ts'
import { runViewer } from './viewer.ts'

function open(options: Omit<TranscriptOptions, 'paint' | 'cwd'>, size = { columns: 70, rows: 20 }) {
  const terminal = headlessTerminal(size)
  const keyboard = handKeyboard()
  void runViewer(transcriptView({ paint: terminal.paint, cwd: '/desk', ...options }), {
    terminal,
    keyboard,
    clock: fakeClock(),
  })
  return { terminal, keyboard }
}

const body = async (terminal: HeadlessTerminal): Promise<string[]> => {
  const rows = (await terminal.screen()).slice(1, -1)
  while (rows.at(-1) === '') rows.pop()
  return rows
}

function viewOf(...bodies: readonly EntryBody[]): SessionView {
  return foldEntries(
    emptyView,
    bodies.map((one, i): LogEntry => ({ ...one, seq: i + 1, at: i * 100, id: `e${i}` })),
  )
}

const session = viewOf(
  { type: 'run_started', runId: 'r', model: 'm' },
  {
    type: 'turn',
    turn: { id: 't1', runId: 'r', role: 'user', createdAt: 1, content: [{ type: 'text', text: 'Look\x1b[2J\nat it' }] },
  },
  {
    type: 'turn',
    turn: {
      ...{ id: 't2', runId: 'r', role: 'assistant', createdAt: 2 },
      content: [
        { type: 'thinking', text: 'It may be\nthe clock.' },
        { type: 'text', text: 'I **run** it.' },
        { type: 'tool_call', id: 'c1', name: 'shell', input: { command: 'seq 3' } },
        { type: 'tool_call', id: 'c2', name: 'shell', input: { command: 'rm x' } },
      ],
    },
  },
  { type: 'call_result', callId: 'c1', outcome: 'done', output: '1\n2\n3', details: { exitCode: 0 } },
  { type: 'call_result', callId: 'c2', outcome: 'blocked', isError: true, output: 'You may not.' },
  { type: 'run_ended', runId: 'r', status: 'aborted', stop: 'cancelled' },
)

test('UI56 the transcript shows everything: thinking, output unfolded, what was refused', async () => {
  const { terminal } = open({ view: () => session })
  expect(await body(terminal)).toEqual([
    '› Look␛[2J',
    '  at it',
    '',
    '~ It may be',
    '  the clock.',
    '',
    'I run it.',
    '',
    `✓ shell seq 3${' '.repeat(40)}3 lines · 0.1 s`,
    '    1',
    '    2',
    '    3',
    `⊘ shell rm x${' '.repeat(45)}not allowed`,
    '    You may not.',
    '',
    '· Stopped',
  ])
})

test('UI56 the transcript opens at the row that is asked for', async () => {
  const { terminal } = open({ view: () => session, at: 'c2' }, { columns: 60, rows: 4 })
  expect((await body(terminal))[0]).toContain('⊘ shell rm x')
})

/** Rows that count how often they are rendered. */
function longView(length: number): { view: SessionView; rendered: () => number } {
  let count = 0
  const rows = Array.from({ length }, (_, i): Row => {
    const text = i === 17 ? 'the needle' : `answer ${i}`
    const row = { kind: 'answer', id: `a${i}`, seq: i + 1, at: 0, thinking: '', content: [] } as const
    return Object.defineProperty({ ...row, text }, 'isInterrupted', { get: () => void count++ })
  })
  return { view: { ...emptyView, rows: PersistentList.of(rows) }, rendered: () => count }
}

test('UI56 a session of 10,000 turns costs what is in sight', async () => {
  const { view, rendered } = longView(10_000)
  const { terminal, keyboard } = open({ view: () => view })
  expect((await body(terminal)).at(-1)).toBe('answer 9999')
  keyboard.press('pageup', 'pageup', 'home')
  expect((await body(terminal))[0]).toBe('answer 0')
  keyboard.press('end', '/', 'needle', 'enter')
  expect(await body(terminal)).toContain('the needle')
  expect(rendered()).toBeLessThan(120)
})

test('UI56 older turns are read when one scrolls to them, and what is in sight stays', async () => {
  const { view: all } = longView(100)
  const last = { ...all, rows: PersistentList.of(all.rows.slice(80)) }
  let reads = 0
  const whole = async (): Promise<SessionView> => {
    reads++
    return all
  }
  const { terminal, keyboard } = open({ view: () => last, whole }, { columns: 40, rows: 12 })
  await body(terminal)
  expect(reads).toBe(0)
  keyboard.press('home')
  await new Promise(setImmediate)
  keyboard.press('x')
  expect((await body(terminal)).filter((line) => line !== '')[0]).toBe('answer 80')
  keyboard.press('up', 'up')
  expect((await body(terminal)).filter((line) => line !== '')[0]).toBe('answer 79')
  keyboard.press('home')
  expect((await body(terminal))[0]).toBe('answer 0')
  expect(reads).toBe(1)
})
