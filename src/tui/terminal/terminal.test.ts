import { describe, expect, test } from 'vitest'
import { fakeTerminal } from '../../../test/cli/fake-terminal.ts'

const hidden = '\x1b[?25l'
const given = '\x1b[?25h'

describe('colours', () => {
  test.each([
    ['a terminal has them', 'both', {}, true],
    ['a pipe has none', 'none', {}, false],
    ['NO_COLOR with any value takes them away', 'both', { NO_COLOR: '0' }, false],
    ['an empty NO_COLOR means nothing', 'both', { NO_COLOR: '' }, true],
    ['NO_COLOR beats FORCE_COLOR', 'both', { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    ['FORCE_COLOR gives them to a pipe', 'none', { FORCE_COLOR: '1' }, true],
    ['FORCE_COLOR=0 takes them away', 'both', { FORCE_COLOR: '0' }, false],
    ['a dumb terminal has none', 'both', { TERM: 'dumb' }, false],
  ] as const)('%s', (_, tty, env, isPainted) => {
    const { terminal } = fakeTerminal({ tty, env })
    expect(terminal.paint.red('x')).toBe(isPainted ? '\x1b[31mx\x1b[39m' : 'x')
  })

  test('an answer into a pipe has no colours', () => {
    const { terminal } = fakeTerminal({ tty: 'stderr', env: { FORCE_COLOR: '1' } })
    expect(terminal.answerPaint.bold('x')).toBe('x')
  })

  test('after an inner style the outer one continues', () => {
    const { paint } = fakeTerminal().terminal
    expect(paint.bold(`a${paint.dim('b')}c`)).toBe('\x1b[1ma\x1b[2mb\x1b[22m\x1b[1mc\x1b[22m')
  })

  test('each line is painted separately', () => {
    expect(fakeTerminal().terminal.paint.red('a\n\nb')).toBe('\x1b[31ma\x1b[39m\n\n\x1b[31mb\x1b[39m')
  })
})

describe('live lines', () => {
  test.each([
    ['stderr is a file', { tty: 'stdout' }],
    ['the terminal is dumb', { env: { TERM: 'dumb' } }],
    ['a build server is watching', { env: { CI: 'true' } }],
  ] as const)('are not drawn if %s', (_, options) => {
    const { terminal, writes } = fakeTerminal(options)
    terminal.live(['x'])
    terminal.close()
    expect(terminal.isInteractive).toBe(false)
    expect(writes).toEqual([])
  })

  test('are drawn in one frame, with the cursor hidden', () => {
    const { terminal, writes } = fakeTerminal()
    terminal.live(['one', 'two'])
    expect(writes).toEqual([`\x1b[?2026h${hidden}\x1b[?7lone\x1b[K\ntwo\x1b[K\x1b[?7h\x1b[J\x1b[?2026l`])
  })

  test('are not drawn again while nothing changes', () => {
    const { terminal, writes } = fakeTerminal()
    for (let i = 0; i < 5; i++) terminal.live(['one'])
    expect(writes).toHaveLength(1)
  })

  test('replace the former ones', () => {
    const { terminal, writes } = fakeTerminal()
    terminal.live(['one', 'two'])
    terminal.live(['three'])
    expect(writes[1]).toBe('\x1b[?2026h\r\x1b[1A\x1b[?7lthree\x1b[K\x1b[?7h\x1b[J\x1b[?2026l')
  })

  test('are cut to the screen', () => {
    const { terminal, said } = fakeTerminal({ columns: 10, rows: 4 })
    terminal.live(['a', 'b', 'c', 'd', '0123456789012'])
    expect(said.err).toContain('01234567…')
    expect(said.err).not.toContain('b\x1b[K')
  })

  test('are erased correctly after a narrower screen has wrapped them', () => {
    const { terminal, writes, resize } = fakeTerminal({ columns: 40 })
    terminal.live(['x'.repeat(30), 'y'.repeat(5)])
    resize(20)
    terminal.live(['z'])
    expect(writes[1]).toContain('\r\x1b[2A')
  })

  test('are cleared before they are redrawn in another size, so that the terminal does not join wrapped lines', () => {
    const { terminal, writes, resize } = fakeTerminal({ columns: 40 })
    terminal.live(['x'.repeat(30)])
    terminal.live(['y'.repeat(30)])
    resize(20)
    terminal.live(['z'])
    expect(writes[1]).toContain('\r\x1b[?7ly')
    expect(writes[2]).toContain('\r\x1b[1A\x1b[K\x1b7\x1b[1B\x1b[J\x1b8\x1b[?7lz')
  })

  test('stay below everything that is printed', () => {
    const { terminal, writes } = fakeTerminal()
    terminal.live(['busy'])
    terminal.line('printed')
    expect(writes[1]).toBe('\x1b[?2026h\r\x1b[Jprinted\n\x1b[?7lbusy\x1b[K\x1b[?7h\x1b[?2026l')
  })

  test('are erased for the answer and drawn again below it', () => {
    const { terminal, writes } = fakeTerminal()
    terminal.live(['busy'])
    terminal.answer('said')
    expect(writes.slice(1)).toEqual(['\x1b[?2026h\r\x1b[J', 'said\n', '\x1b[?7lbusy\x1b[K\x1b[?7h\x1b[?2026l'])
  })

  test('show the cursor again when they are cleared, and close only once', () => {
    const { terminal, said, writes } = fakeTerminal()
    terminal.live(['busy'])
    terminal.close()
    terminal.close()
    expect(said.err.lastIndexOf(given)).toBeGreaterThan(said.err.lastIndexOf(hidden))
    expect(writes).toHaveLength(2)
  })

  test('never start in the middle of a line of the answer', () => {
    const { terminal, said } = fakeTerminal()
    terminal.answer('half a line')
    terminal.live(['busy'])
    expect(said.out).toBe('half a line\n')
  })
})

test('a pipe gets the answer unchanged, whatever else is printed', () => {
  const { terminal, said } = fakeTerminal({ tty: 'stderr' })
  terminal.answer('half ')
  terminal.live(['busy'])
  terminal.line('note')
  terminal.answer('a \x1b[2J line')
  terminal.close()
  expect(said.out).toBe('half a \x1b[2J line')
})

test('a screen of unknown size has 80 columns and 24 rows', () => {
  const { terminal } = fakeTerminal({ tty: 'none' })
  expect([terminal.columns, terminal.rows]).toEqual([80, 24])
})
