import { stripVTControlCharacters } from 'node:util'
import xterm from '@xterm/headless'
import { describe, expect, test } from 'vitest'
import { type FakeTerminalOptions, fakeTerminal } from '../../../test/cli/fake-terminal.ts'
import { createEvents, ending, hostile, scenes } from '../../../test/cli/screen-scenes.ts'
import type { AgentEvent } from '../../events/events.ts'
import { fakeClock } from '../../testing/fake-clock.ts'
import { createScreen, type RunEnding, type ScreenOptions } from './screen.ts'

function stage(options: FakeTerminalOptions & Partial<Pick<ScreenOptions, 'isQuiet'>> = {}) {
  const { isQuiet = false, ...rest } = options
  const fake = fakeTerminal({ env: { NO_COLOR: '1' }, ...rest })
  const clock = fakeClock()
  const screen = createScreen({ terminal: fake.terminal, cwd: '/desk/project', isQuiet, clock })
  const show = (...events: AgentEvent[]): void => {
    for (const event of events) screen.show(event)
  }
  return { ...fake, clock, screen, show, ...createEvents() }
}

describe('into a pipe', () => {
  test('the text of a turn is written unchanged with one newline at its end', () => {
    const { show, said, text, turn } = stage({ tty: 'none' })
    show(...text('# A *b*\r\n\x1b[2J 日本'))
    expect(said.out).toBe('')
    show(turn('t1', '# A *b*\r\n\x1b[2J 日本'))
    show(...text('ends itself\n', 't2'), turn('t2', 'ends itself\n'))
    expect(said.out).toBe('# A *b*\r\n\x1b[2J 日本\nends itself\n')
    expect(said.err).toBe('')
  })

  test('a character split over two deltas is written whole', () => {
    const { show, said, hint, turn } = stage({ tty: 'none' })
    for (const delta of ['a\ud83d', '\ude00b']) show(hint({ type: 'text', turnId: 't1', attempt: 1, delta }))
    show(turn('t1', 'a😀b'))
    expect(said.out).toBe('a😀b\n')
  })

  test('SV15 nothing but the answer is written, and the lines about the run are made from its view', () => {
    const { show, said, screen } = stage({ tty: 'none' })
    for (const beat of scenes.typical!()) if (typeof beat === 'object') show(beat)
    screen.notice('a notice')
    screen.end(ending)
    screen.close()
    expect(said.out).toBe(
      '## The plan\n\nI run the **tests** and `mend` what is broken.\n\n- first this\n- then that\n' +
        '| file | change |\n|---|---|\n| src/add.ts | mended |\n\nDone: see [the docs](https://docs.test/a).\n',
    )
    expect(said.err).toBe(`~ thought
✗ shell npm test  exit 1
  not ok 3
  expected 3, got 2
✓ edit src/add.ts  +1 −1
  @@ -1,2 +1,2 @@
  -return a - b
  +return a + b
   kept
✓ read_file src/other.ts  3 lines
⊘ frobnicate {"level":3,"deep":{"yes":true}}  not allowed
  You may not do that.
a notice
3 turns · 12,345 in · 678 out · $0.0123 · 4.2 s · session 1a2b3c4d…; continue with: libero --continue
`)
  })

  test('R09 a line names the awaited model every 30 s', async () => {
    const { show, said, clock, hint, fact, turn } = stage({ tty: 'none' })
    show(
      fact({ type: 'run_started', runId: 'r', model: 'mock-1' }),
      hint({ type: 'turn_started', turnId: 't1', step: 1 }),
    )
    await clock.advance(29_999)
    expect(said.err).toBe('')
    await clock.advance(30_001)
    expect(said.err).toBe(
      '… waiting for mock-1 · 30 s · Ctrl-C to stop\n… waiting for mock-1 · 60 s · Ctrl-C to stop\n',
    )
    show(turn('t1', 'Here.'))
    expect(clock.pending).toBe(0)
  })

  test('a reply that did not stream is written whole, and a partly streamed one is completed', () => {
    const { show, said, text, turn } = stage({ tty: 'none' })
    show(turn('t1', 'Whole.'), ...text('Half', 't2'), turn('t2', 'Half and half.'))
    expect(said.out).toBe('Whole.\nHalf and half.\n')
  })

  test('R07 only the answer is written: a failed attempt is reported on stderr', () => {
    const { show, said, hint, text, turn } = stage({ tty: 'none' })
    show(...text('Half'), hint({ type: 'stream_void', turnId: 't1', attempt: 1, reason: 'overloaded' }))
    show(...text('Whole.'), turn('t1', 'Whole.'))
    expect(said).toEqual({ out: 'Whole.\n', err: '… the service broke off (overloaded); trying again\n' })
  })

  test.each(['a failure', 'closing', 'an interruption'])('R07 nothing is written of a turn that %s cuts off', (how) => {
    const { show, said, hint, fact, text, screen } = stage({ tty: 'none' })
    show(...text('Half'))
    const content = [{ type: 'text', text: 'Half' }] as const
    const turn = { id: 't1', runId: 'r', role: 'assistant', content, createdAt: 0, interrupted: true } as const
    if (how === 'an interruption') show(fact({ type: 'turn', turn }))
    if (how === 'a failure') show(hint({ type: 'turn_failed', turnId: 't1', stop: 'error', error: 'down' }))
    screen.close()
    expect(said.out).toBe('')
  })

  test('R07 when a budget ends the run, the text so far is written', () => {
    const { show, said, hint, text, screen } = stage({ tty: 'none' })
    show(...text('So far'), hint({ type: 'turn_failed', turnId: 't1', stop: 'error', error: 'down' }))
    screen.end({ ...ending, stats: { ...ending.stats!, text: 'So far' } })
    expect(said.out).toBe('So far\n')
  })
})

test('R07 on a terminal the shown text of a failed attempt is declared void', () => {
  const { show, said, hint, text } = stage({ tty: 'both' })
  show(...text('Half.\n\nMore.\n\n'), hint({ type: 'stream_void', turnId: 't1', attempt: 1, reason: 'overloaded' }))
  expect(said.out).toContain('Half.')
  const words = stripVTControlCharacters(said.err).replace(/\s+/g, ' ')
  expect(words).toContain('broke off (overloaded); ignore its text so far; trying again')
})

describe('quiet', () => {
  test.each(['none', 'both'] as const)('shows the answer once and nothing else (%s)', (tty) => {
    const { show, said, screen } = stage({ tty, isQuiet: true })
    for (const beat of scenes.typical!()) if (typeof beat === 'object') show(beat)
    screen.notice('a notice', 'warning')
    screen.end({ ...ending, stats: { ...ending.stats!, text: 'The answer.\n\nAll of it.' } })
    screen.close()
    expect(said).toEqual({ out: 'The answer.\n\nAll of it.\n', err: '' })
  })
})

describe('live lines', () => {
  test('T10 a stream that stalls in the middle of an answer shows a spinner until it continues', async () => {
    const { show, writes, clock, fact, text } = stage()
    show(fact({ type: 'run_started', runId: 'r', model: 'mock-1' }), ...text('So far'))
    await clock.advance(1900)
    expect(writes.join('')).not.toContain('waiting for')
    await clock.advance(10_000)
    expect(writes.at(-1)).toMatch(/[⠀-⣿] waiting for mock-1 to go on · 11 s · Ctrl-C to stop/)
    writes.length = 0
    show(...text(' and on'))
    await clock.advance(100)
    expect(writes.at(-1)).toContain('So far and on')
    expect(writes.at(-1)).not.toContain('waiting for')
  })

  test('T10 when the window shrinks during a code block, no line of it is shown twice', async () => {
    const emulator = new xterm.Terminal({
      cols: 100,
      rows: 30,
      scrollback: 500,
      allowProposedApi: true,
      convertEol: true,
    })
    const { show, writes, clock, text, turn, resize } = stage({ columns: 100, rows: 30 })
    const drawn = async (): Promise<string> => {
      await clock.advance(100)
      const all = writes.splice(0).join('')
      await new Promise<void>((done) => emulator.write(all, done))
      const { active } = emulator.buffer
      return Array.from({ length: active.length }, (_, i) => active.getLine(i)!.translateToString(true)).join('\n')
    }
    const lines = Array.from({ length: 40 }, (_, i) => `const v${i} = compute(${i}) // ${'long '.repeat(10)}\n`)
    const code = ['Look:\n\n```ts\n', ...lines, '```\n']
    show(...code.slice(0, 30).flatMap((one) => text(one)))
    await drawn()
    for (const [columns, rows] of [
      [60, 30],
      [45, 24],
      [100, 30],
    ] as const) {
      emulator.resize(columns, rows)
      resize(columns, rows)
      show(...text(' '))
      await drawn()
    }
    show(...code.slice(30).flatMap((one) => text(one)), turn('t1', code.join('')))
    const seen = (await drawn()).match(/const v\d+ /g)
    emulator.dispose()
    expect(seen).toEqual(lines.map((line) => line.slice(0, line.indexOf(' =') + 1)))
  })

  test('R09 name the awaited model, how long it takes, the attempt, and how to stop', async () => {
    const { show, writes, clock, hint, fact, screen } = stage()
    const asked = hint({ type: 'turn_started', turnId: 't1', step: 1 })
    show(fact({ type: 'run_started', runId: 'r', model: 'mock-1' }), asked)
    await clock.advance(4_200)
    expect(writes.at(-1)).toContain('asking the model, 4 s')
    await clock.advance(21_000)
    expect(writes.at(-1)).toContain('waiting for mock-1 · 25 s · Ctrl-C to stop')
    show(hint({ type: 'stream_void', turnId: 't1', attempt: 2, reason: 'overloaded' }))
    await clock.advance(7_000)
    expect(writes.at(-1)).toContain('waiting for mock-1 · 7 s · attempt 2 · Ctrl-C to stop')
    screen.close()
  })

  test('any number of deltas in a frame are drawn once', async () => {
    const { show, writes, text, clock } = stage()
    show(...text('x'.repeat(70)))
    expect(writes).toHaveLength(1)
    await clock.advance(40)
    expect(writes).toHaveLength(2)
    expect(writes[1]).toContain('x'.repeat(70))
  })

  test('an unfinished block is shown as written, with its indentation, wrapped to the screen', async () => {
    const { show, writes, text, clock } = stage({ columns: 20 })
    show(...text('- if (a)\n    one two three four five'))
    await clock.advance(40)
    const lines = ['- if (a)', '    one two three', '    four five']
    expect(writes.at(-1)).toContain(lines.map((line) => `${line}\x1b[K`).join('\n'))
  })

  test('the spinner turns only during activity, and no timer is left', async () => {
    const { show, writes, turn, fact, clock, screen } = stage()
    show(turn('t1', '', { c1: ['shell', { command: 'sleep 9' }] }))
    await clock.advance(1000)
    expect(writes.length).toBeGreaterThan(8)
    show(fact({ type: 'call_result', callId: 'c1', outcome: 'done', output: 'ok' }))
    await clock.advance(100)
    const before = writes.length
    await clock.advance(5000)
    expect(writes).toHaveLength(before)
    expect(clock.pending).toBe(0)
    show(turn('t2', '', { c2: ['shell', { command: 'sleep 9' }] }))
    screen.close()
    screen.close()
    show(turn('t3', 'too late'))
    expect(clock.pending).toBe(0)
  })

  test('nothing is drawn while a dialog is open, and later events are shown afterwards', async () => {
    const { show, said, writes, turn, text, clock, screen } = stage()
    show(turn('t1', '', { c1: ['shell', { command: 'rm x' }] }))
    screen.pause()
    const before = writes.length
    show(...text('Meanwhile.\n\nmore', 't2'))
    screen.notice('noted')
    await clock.advance(1000)
    expect(writes).toHaveLength(before)
    expect(clock.pending).toBe(0)
    screen.resume()
    expect(said.out).toContain('Meanwhile.')
    expect(said.err).toContain('noted')
  })

  test('each child has a line with its activity until it is done', async () => {
    const { show, said, writes, text, turn, fact, clock } = stage()
    const child = (id: string, event: AgentEvent): AgentEvent => ({
      durable: false,
      type: 'child',
      child: { id, depth: 1 },
      event: event as never,
    })
    show(child('a', turn('x', '', { k: ['grep', { pattern: 'TODO', path: '/desk/project/src' }] })))
    show(child('b', text('I look around')[0]!))
    await clock.advance(100)
    expect(writes.at(-1)).toMatch(/agent 1 grep TODO in src.*\n.*agent 2 I look/)
    show(child('a', fact({ type: 'run_ended', runId: 'x', status: 'completed', stop: 'end' })))
    await clock.advance(100)
    expect(writes.at(-1)).not.toContain('grep')
    expect(said.out).toBe('')
  })

  test('calls beyond the rows of the screen are counted', async () => {
    const { show, writes, turn, clock } = stage({ rows: 8 })
    const calls = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`c${i}`, ['read_file', { path: `f${i}` }]]))
    show(turn('t1', '', calls as never))
    await clock.advance(100)
    expect(writes.at(-1)).toContain('and 45 more')
  })
})

describe('an answer on a terminal', () => {
  test('is rendered block by block, and a call finishes the current block', () => {
    const { show, said, hint, text } = stage()
    show(...text('# Head\n\nOne **two**'))
    expect(said.out).toBe('Head\n')
    show(hint({ type: 'tool_start', turnId: 't1', callId: 'c1', name: 'shell', displayName: 'shell' }))
    expect(said.out).toBe('Head\n\nOne two\n')
  })

  test('UI-01 has no control characters even if it is too long to be rendered', () => {
    const { show, said, text, turn } = stage()
    const long = `${'word '.repeat(5000)}\x1b[2J\x9b2J ${'word '.repeat(1000)}end`
    show(...text(long), turn('t1', long))
    expect(said.out).toContain('␛[2J\\x9b2J')
    expect(said.out.match(/word/g)).toHaveLength(6000)
    expect(said.out).toMatch(/word end\n$/)
  })
})

describe('results', () => {
  const result = (body: object, input: Record<string, unknown> = { path: 'x' }): string => {
    const { show, said, turn, fact } = stage({ tty: 'none' })
    show(turn('t1', '', { c1: ['tool', input] }))
    show(fact({ type: 'call_result', callId: 'c1', outcome: 'done', output: '', ...body } as never))
    return said.err
  }

  test.each([
    [{ output: 'fine' }, '✓ tool x  fine\n'],
    [{ output: 'a\nb\n' }, '✓ tool x  2 lines\n'],
    [{ output: 'a', details: { total: 7 } }, '✓ tool x  7 hits\n'],
    [{ output: 'a', details: { lines: { first: 3, last: 12 } } }, '✓ tool x  10 lines\n'],
    [{ output: [{ type: 'image', mediaType: 'image/png', data: '' }] }, '✓ tool x  1 file\n'],
    [{ output: 'No file.\nAt all.', isError: true, outcome: 'error' }, '✗ tool x  failed\n  No file.\n'],
    [
      { output: '1\n2\n3\n\n4\n\tlast\n(exit 2, 418ms)', isError: true, details: { exitCode: 2 } },
      '✗ tool x  exit 2 · 6 lines\n  2\n  3\n  4\n    last\n',
    ],
    [
      { output: '1\n0 errors\nError: no x\n  at y\n3\n(exit 2, 418ms)', isError: true, details: { exitCode: 2 } },
      '✗ tool x  exit 2 · 5 lines\n  Error: no x\n    at y\n',
    ],
    [{ output: 'Started job 2', details: { job: 2, command: 'x', isRunning: true } }, '✓ tool x  job 2 runs\n'],
    [{ output: 'late', isError: true, outcome: 'timeout' }, '✗ tool x  timed out\n  late\n'],
    [{ output: 'Denied by you.', isError: true, outcome: 'blocked' }, '⊘ tool x  not allowed\n  Denied by you.\n'],
  ])('%j', (body, shown) => {
    expect(result(body)).toBe(shown)
  })

  test('a long diff is cut, with a note of how much', () => {
    const diff = `@@ -1 +1 @@\n${'+line\n'.repeat(100)}`
    const lines = result({ details: { diff } }).split('\n')
    expect(lines[0]).toBe('✓ tool x  +100 −0')
    expect(lines.filter((line) => line === '  +line')).toHaveLength(38)
    expect(lines.at(-2)).toBe('  … 62 more lines')
  })

  test('UI-10 a file name that looks like markup is shown as it is', () => {
    expect(result({ output: 'ok' }, { path: '<img src=x onerror=a>\n# b' })).toBe(
      '✓ tool <img src=x onerror=a>\\n# b  ok\n',
    )
  })

  test('the result of a call from an earlier run is shown with its name', () => {
    const { screen, show, said, fact } = stage({ tty: 'none' })
    screen.expect([{ type: 'tool_call', id: 'old', name: 'shell', input: { command: 'make' } }])
    show(fact({ type: 'call_result', callId: 'old', outcome: 'done', output: 'made' }))
    expect(said.err).toBe('✓ shell make  made\n')
  })

  test('a call that waits for approval at the end of the run is shown as such', () => {
    const { show, said, turn, fact } = stage({ tty: 'none' })
    show(turn('t1', '', { c1: ['shell', { command: 'rm x' }], c2: ['shell', { command: 'ls' }] }))
    show(fact({ type: 'approval_requested', callId: 'c1', digest: 'd' }))
    show(fact({ type: 'run_ended', runId: 'r', status: 'suspended', stop: 'permission-required' }))
    expect(said.err).toBe('? shell rm x  waits for approval\n')
  })
})

describe('the end', () => {
  const end = (more: Partial<RunEnding['stats']>, rest: Partial<RunEnding> = {}): string => {
    const { said, screen } = stage({ tty: 'none' })
    screen.end({ model: 'm', provider: 'p', ...rest, stats: { ...ending.stats!, ...more } as never })
    return said.err
  }
  const free = { cost: undefined }

  test.each<[Partial<RunEnding['stats']>, Partial<RunEnding>, string]>([
    [{}, {}, '3 turns · 12,345 in · 678 out · $0.0123 · 4.2 s\n'],
    [{ cost: 0 }, {}, '3 turns · 12,345 in · 678 out · $0 · 4.2 s\n'],
    [free as never, {}, '3 turns · 12,345 in · 678 out · cost unknown · 4.2 s\n'],
    [free as never, { provider: 'ollama' }, '3 turns · 12,345 in · 678 out · 4.2 s\n'],
    [{ ...free, totalIn: 0, totalOut: 0, turns: 1 } as never, {}, '1 turn · 4.2 s\n'],
    [{ elapsed: 125_000 }, {}, '3 turns · 12,345 in · 678 out · $0.0123 · 2 min 5 s\n'],
  ])('%j %j', (stats, rest, line) => {
    expect(end(stats, rest)).toBe(line)
  })

  test.each<[Partial<RunEnding['stats']>, string]>([
    [{ stopReason: 'max_turns' }, 'stopped after 3 turns'],
    [{ stopReason: 'budget' }, 'the budget is used up'],
    [{ status: 'aborted' }, 'stopped before it was done'],
    [{ status: 'suspended', stopReason: 'permission-required' }, 'continue with: libero --resume abc'],
  ])('%j is named as the reason', (stats, words) => {
    expect(end(stats, { sessionId: 'abc' })).toContain(words)
  })

  test('an answer that did not stream is shown, in every run of a conversation', () => {
    const { said, screen, show, text, turn } = stage({ tty: 'none' })
    show(...text('First.'), turn('t1', 'First.'))
    for (const answer of ['First.', 'Known already.'])
      screen.end({ ...ending, stats: { ...ending.stats!, text: answer } })
    expect(said.out).toBe('First.\nKnown already.\n')
  })
})

test('UI-01 UI-02 no escape sequence of foreign text reaches the terminal, whole or split', async () => {
  const { show, said, screen, clock } = stage()
  for (const beat of scenes.hostile!()) {
    if (typeof beat === 'object') show(beat)
    if (typeof beat === 'number') await clock.advance(beat)
  }
  for (const bad of hostile) screen.notice(bad)
  screen.close()
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: the test is about them
  const own = /\x1b\[(?:\?2026[hl]|\?25[hl]|\?7[hl]|[JK]|\d+[AB]|\d*m)|\x1b[78]|\r(?=\x1b\[)|\n/g
  expect((said.out + said.err).replace(own, '')).not.toMatch(/[\x00-\x1f\x7f-\x9f]/)
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above
  expect(said.out).toContain('Safe at the end.')
})
