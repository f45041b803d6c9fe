import { describe, expect, test } from 'vitest'
import { handKeyboard, recordingTerminal } from '../../../test/cli/person-kit.ts'
import { type HeadlessTerminal, headlessTerminal } from '../../../test/tui/headless-terminal.ts'
import type { InteractionResponse } from '../../core/interaction.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import type { SessionQuery, SessionSummary } from '../../core/store.ts'
import { createMemoryStore } from '../../sessions/memory-store.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { keyGroups } from '../keys.ts'
import { entryView, inspectorView } from './inspector.ts'
import { keysView, pageView } from './page.ts'
import { sessionsView } from './sessions.ts'
import { runViewer, type View } from './viewer.ts'
import { answerWaiting, type WaitingCall } from './waiting.ts'

function show<T>(make: (terminal: HeadlessTerminal) => View<T>, size = { columns: 80, rows: 14 }) {
  const terminal = headlessTerminal(size)
  const keyboard = handKeyboard()
  const clock = fakeClock()
  const closed = runViewer(make(terminal), { terminal, keyboard, clock })
  const seen = async (): Promise<string[]> => {
    await settled()
    await clock.advance(100)
    return await terminal.screen()
  }
  return { terminal, keyboard, closed, seen }
}

const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate)
}

/** A real store with sessions of two folders. */
async function filledStore(count: number) {
  const store = createMemoryStore()
  for (let i = 0; i < count; i++) {
    const id = `s${i}`
    const { epoch } = await store.lease(id, { owner: 'test', ttlMs: 1000, create: true })
    const text = i === 3 ? 'the needle' : `task ${i}`
    const bodies: EntryBody[] = [
      { type: 'details', title: text, folder: i % 2 === 0 ? '/desk/shop' : '/desk/blog' } as EntryBody,
    ]
    const entries = bodies.map((body, n): LogEntry => ({ ...body, seq: n + 1, at: 1000 + i, id: `${id}-${n}` }))
    await store.append(id, entries, { epoch, head: 0 })
    await store.lease(id, { owner: 'test', ttlMs: 0, epoch })
  }
  return store
}

describe('UI58 the sessions', () => {
  const now = (): number => 90_000

  test('are listed by folder, read in pages of the index, searched as one types, and opened', async () => {
    const store = await filledStore(250)
    const queries: SessionQuery[] = []
    const { keyboard, seen, closed } = show(({ paint }) =>
      sessionsView({
        ...{ paint, now, folder: '/desk/shop' },
        list: (query) => {
          queries.push(query)
          return store.list(query)
        },
      }),
    )
    const rows = await seen()
    expect(rows[0]).toMatch(/^Sessions of \/desk\/shop +1 of 100\+$/)
    expect(rows[1]).toMatch(/^▸ task 248 +1 min ago$/)
    expect(queries).toEqual([{ parent: null, limit: 100, folder: '/desk/shop' }])
    keyboard.press('end')
    expect((await seen())[0]).toContain('of 125')
    keyboard.press('f')
    expect((await seen())[1]).toMatch(/^▸ task 249 +blog · 1 min ago$/)
    keyboard.press('/', 'n', 'e', 'e')
    const found = await seen()
    expect(found[1]).toMatch(/^▸ the needle/)
    expect(found[2]).toBe('')
    keyboard.press('enter', 'enter')
    expect((await closed)?.id).toBe('s3')
  })

  test('are deleted after a question, and renamed', async () => {
    const store = await filledStore(3)
    const told: string[] = []
    const { keyboard, seen } = show(({ paint }) =>
      sessionsView({
        ...{ paint, now, list: (query) => store.list(query) },
        delete: (id) => store.delete(id),
        rename: async (id, title) => void told.push(`${id} ${title}`),
      }),
    )
    await seen()
    keyboard.press('d')
    expect((await seen()).at(-1)).toBe('Delete "task 2" for good? y yes · any other key: no')
    keyboard.press('x')
    expect(await store.find('s2')).toMatchObject({ id: 's2', title: 'task 2' })
    keyboard.press('d', 'y')
    expect((await seen())[1]).toContain('task 1')
    expect(await store.find('s2')).toBeUndefined()
    keyboard.press('r', '!', 'enter')
    expect((await seen())[1]).toContain('task 1!')
    expect(told).toEqual(['s1 task 1!'])
  })

  test('show the end of the selected one beside the list, and say what a store refuses', async () => {
    const one = { id: 'a', title: 'bad\x1b[2J', status: 'waiting', tags: [], turns: 2, calls: 1, cost: 0.5 } as const
    const summary = { ...one, updatedAt: 0, createdAt: 0, head: 1, tokens: 1, bytes: 1 } satisfies SessionSummary
    const { keyboard, seen } = show(
      ({ paint }) =>
        sessionsView({
          ...{ paint, now, list: async () => ({ sessions: [summary] }) },
          lastRows: async () => [{ kind: 'notice', id: 'n', seq: 1, at: 0, about: 'run', text: 'Stopped' }],
          delete: async () => {
            throw new Error('it is held by another process')
          },
        }),
      { columns: 110, rows: 8 },
    )
    await seen()
    const rows = await seen()
    expect(rows[1]).toMatch(/^▸ waits for you: bad␛\[2J +\$0\.5000 · 1 min ago│ 2 turns · 1 call$/)
    expect(rows[3]).toMatch(/│ · Stopped$/)
    keyboard.press('d', 'y')
    expect((await seen()).at(-1)).toBe('it is held by another process')
  })
})

describe('UI59 the inspector', () => {
  const entries = Array.from({ length: 500 }, (_, i): LogEntry => {
    const about = { seq: i + 1, at: 1000 * i, id: `e${i}` }
    return i === 42
      ? { ...about, type: 'label', text: 'needle\x1b[2J' }
      : { ...about, type: 'state', owner: 'x', value: i }
  })
  const read = async ({ before = 1e9, limit = 1e9 }): Promise<LogEntry[]> =>
    entries.filter(({ seq }) => seq < before).slice(-limit)

  test('lists the last entries, reads older ones when they are needed, filters, and goes to a number', async () => {
    let reads = 0
    const counted: typeof read = (range) => {
      reads++
      return read(range)
    }
    const { keyboard, seen, closed } = show(({ paint }) => inspectorView({ paint, read: counted }), {
      columns: 80,
      rows: 30,
    })
    expect((await seen())[1]).toMatch(/^▸ {4}500 state +00:08:19\.000 +\d+ bytes$/)
    expect(reads).toBe(1)
    keyboard.press(':', '42', 'enter')
    expect((await seen()).find((row) => row.startsWith('▸'))).toContain(' 42 state')
    expect(reads).toBe(3)
    keyboard.press('/', 'label')
    const rows = await seen()
    expect(rows[1]).toContain('43 label')
    expect(rows.join('\n')).toContain('"text": "needle\\u001b[2J"')
    keyboard.press('enter', 'enter')
    expect((await closed)?.seq).toBe(43)
  })

  test('opens at an entry, and shows one whole', async () => {
    const { seen } = show(({ paint }) => inspectorView({ paint, read, at: 7 }))
    expect((await seen()).find((row) => row.startsWith('▸'))).toContain('  7 state')
    const one = show(({ paint }) => entryView(entries[42]!, paint))
    expect((await one.seen()).slice(0, 3)).toEqual([expect.stringContaining('Entry 43: label'), '{', '  "seq": 43,'])
  })
})

describe('UI60 what waits in other sessions', () => {
  const waiting: WaitingCall[] = ['npm publish', 'rm x'].map((command, i) => ({
    sessionId: `s${i}`,
    title: `Task ${i}`,
    call: { callId: `c${i}`, name: 'shell', input: { command }, reason: 'the mode is ask' },
  }))

  test('is listed, asked about in its dialog, and answered through the callback', async () => {
    const terminal = headlessTerminal({ columns: 80, rows: 20 })
    const keyboard = handKeyboard()
    const inline = recordingTerminal()
    const clock = fakeClock()
    const answers: [string, InteractionResponse][] = []
    let left = waiting
    const done = answerWaiting({
      list: async () => left,
      answer: async ({ sessionId }, response) => {
        answers.push([sessionId, response])
        left = left.filter((one) => one.sessionId !== sessionId)
      },
      show: (view) => runViewer(view, { terminal, keyboard }),
      paint: terminal.paint,
      dialog: (use) => use({ terminal: inline, keyboard, clock }),
    })
    await settled()
    expect((await terminal.screen()).slice(1, 3)).toEqual(['▸ shell npm publish  Task 0', '  shell rm x  Task 1'])
    keyboard.press('down', 'enter')
    await settled()
    await terminal.screen()
    expect(terminal.isAlternate).toBe(false)
    expect(inline.lines.join('\n')).toContain('│   {"command":"rm x"}')
    keyboard.press('y')
    await settled()
    keyboard.press('enter')
    await settled()
    keyboard.press('n')
    await done
    expect(answers).toEqual([
      ['s1', { status: 'accepted', value: { scope: 'once' } }],
      ['s0', { status: 'rejected', reason: '' }],
    ])
  })
})

test('UI61 the keys are one table, in which a key has one meaning in its place', async () => {
  for (const { keys } of keyGroups) {
    const all = keys.flatMap((one) => (one.keys === 'esc esc' ? [one.keys] : one.keys.split(' ')))
    expect(new Set(all).size).toBe(all.length)
  }
  const { keyboard, seen } = show(({ paint }) => keysView(paint), { columns: 120, rows: 60 })
  const rows = await seen()
  for (const { does } of keyGroups.flatMap(({ keys }) => keys)) expect(rows.join('\n')).toContain(does)
  keyboard.press('q')
})

test('UI55 a page of a command is scrolled and searched, and foreign text in it is harmless', async () => {
  const text = `first\n${'long '.repeat(30)}\nbad\x1b]0;title\x07`
  const { seen } = show(({ paint }) => pageView({ title: 'A\x1b page', text }, paint), { columns: 60, rows: 10 })
  const rows = await seen()
  expect(rows[0]).toContain('A␛ page')
  expect(rows[1]).toBe('first')
  expect(rows.join('\n')).toContain('bad␛]0;title\\x07')
})

test('UI61 on a narrow screen what a key does stands below it, whole', async () => {
  const { seen } = show(({ paint }) => keysView(paint), { columns: 40, rows: 12 })
  const rows = await seen()
  expect(rows.slice(1, 6)).toEqual([
    'Input line',
    '  enter',
    '    sends; while the agent works it',
    '    steers',
    '  alt+enter',
  ])
})
