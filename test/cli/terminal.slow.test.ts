import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import { unavailable } from '../bubblewrap-kit.ts'
import { builtCli } from '../built-cli.ts'
import { gate, type MockService, startMockService } from '../rpc/mock-service.ts'
import { testInTurns } from '../soak.ts'
import { type Desk, openDesk } from './cli-kit.ts'
import { foreignIn, type PseudoTerminal, startInTerminal } from './pseudo-terminal.ts'

// Each of them starts a process in a terminal.
const test = testInTurns(4)

const main = await builtCli()

let service: MockService
beforeAll(async () => {
  service = await startMockService()
})
afterAll(() => service.close())
beforeEach(() => {
  service.play()
  service.requests.length = 0
})

interface Sitting {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Record<string, string>
  /** A line of the shell around it; `"$@"` is libero. */
  readonly shell?: string
}

/** A person at a terminal types `libero …`. */
function sit(desk: Desk, args: readonly string[], { env, shell, ...size }: Sitting = {}): PseudoTerminal {
  const libero = [process.execPath, main, ...args] as const
  const line = shell === undefined ? libero : (['/bin/sh', '-c', shell, 'sh', ...libero] as const)
  return startInTerminal(line, { cwd: desk.cwd, env: { ...desk.env, ...env }, columns: 100, rows: 40, ...size })
}

/** Tells what the terminal is like afterwards, and how it ended. Its process is named in the file `pid`. */
const andThen = `trap : INT; sh -c 'echo $$ > pid; exec "$@"' sh "$@"; code=$?; stty -a; echo "ended with $code"`

function expectSane(terminal: PseudoTerminal, code: number): void {
  expect(terminal.text()).toMatch(new RegExp(` icanon .* echo .*ended with ${code}$`, 's'))
  const { raw } = terminal
  for (const [on, off] of modes) expect(raw.lastIndexOf(on), on).toBeGreaterThanOrEqual(raw.lastIndexOf(off))
  expect(foreignIn(raw)).toEqual([])
}

/** As they were, and as they are while something is lively: the cursor, wrapping, pastes, frames. */
const modes = [
  ['\x1b[?25h', '\x1b[?25l'],
  ['\x1b[?7h', '\x1b[?7l'],
  ['\x1b[?2004l', '\x1b[?2004h'],
  ['\x1b[?2026l', '\x1b[?2026h'],
] as const

/** The dialog about a command, as soon as keys count. */
const asked = (command: string): RegExp => new RegExp(`command: ${command}\\n(?:│.*\\n)*.*▸ n  no.*Esc: no`, 's')

const said = (): string => JSON.stringify(service.requests.at(-1).messages)

test('a whole task: streamed text, rendered when complete, a diff, and every way to answer', async () => {
  const desk = openDesk(service.url)
  desk.write('a.txt', 'one\ntwo\nthree\n')
  desk.write('never', '')
  const held = gate()
  service.play(
    [{ say: 'I *look* at ' }, { say: '**it**' }, { hang: held }, { say: ' first.\n' }, { call: 'edit', args: mend }],
    [{ call: 'shell', args: { command: 'touch made' } }],
    [{ call: 'shell', args: { command: 'touch made' } }],
    [{ call: 'shell', args: { command: 'rm never' } }],
    [{ say: '## Done\n\n- **two** is `TWO`\n' }],
  )
  const terminal = sit(desk, ['mend it'])
  await held.reached
  await terminal.until('I *look* at **it**')
  held.open()
  await terminal.until(/does: fs.read a.txt; fs.write a.txt\n│ edits a.txt: \+1 −1\n.*│ -two\n│ \+TWO\n.*Esc: no/s)
  expect(terminal.text()).toContain('I look at it first.')
  expect(terminal.text()).not.toContain('**')
  expect(readFileSync(join(desk.cwd, 'a.txt'), 'utf8')).toContain('two')
  terminal.type('y')
  await terminal.until(asked('touch made'))
  expect(terminal.text()).toMatch(
    /│ @@ -1,3 \+1,3 @@\n│ {2}one\n│ -two\n│ \+TWO\n│ {2}three\n[\s\S]*✓ edit a\.txt {2,}\+1 −1\n(?! {2}@@)/,
  )
  expect(terminal.text()).toMatch(/1\. touch made\n│ +does: .*fs\.write made/)
  terminal.type('s')
  await terminal.until(asked('rm never'))
  expect(terminal.text().match(/Allow shell\?\n│/g)).toHaveLength(2)
  terminal.type('r')
  await terminal.until('No, because:')
  terminal.type('use make, bitte schön\r')
  expect(await terminal.ended).toBe(0)
  const left = terminal.text()
  expect(left).toContain('✗ not allowed (use make, bitte schön): shell rm never')
  expect(left.match(/use make/g)).toHaveLength(1)
  expect(left).toMatch(
    /\nDone\n\n• two is TWO\n\n5 turns .*\nsession \S+; continue with: libero --continue(?:\n! no sandbox)?$/,
  )
  expect(left).not.toMatch(/▸|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
  expect(said()).toContain('use make, bitte schön')
  expect([existsSync(join(desk.cwd, 'made')), existsSync(join(desk.cwd, 'never'))]).toEqual([true, true])
  expect(terminal.raw).toContain('\x1b[32m+TWO')
  expect(foreignIn(terminal.raw)).toEqual([])
})

test('SB05 without a sandbox, that is shown all the time', async () => {
  const desk = openDesk(service.url)
  const held = gate()
  service.play([{ hang: held }, { say: 'Yes.' }])
  const terminal = sit(desk, ['--sandbox', 'off'])
  await terminal.until(
    /no sandbox: it was switched off; commands that are allowed run with all your rights(?:.*\n)*.*enter sends.*\n ask · no sandbox · /,
  )
  terminal.type('Are you there?\r')
  await held.reached
  await terminal.until(/enter steers.*\n ask · no sandbox · /)
  held.open()
  await terminal.until(/Yes\.\n\n › *\n.*enter sends.*\n ask · no sandbox · /)
  terminal.type('\x04')
  expect(await terminal.ended).toBe(0)
})

test.skipIf(unavailable)('SB05 with a sandbox, that is shown at the start', async () => {
  const desk = openDesk(service.url)
  service.play([{ say: 'Yes.' }])
  const inside = sit(desk, ['x'])
  expect(await inside.ended).toBe(0)
  expect(inside.text()).toMatch(/mock mock-1 \(.*\) · sandbox: bubblewrap\n/)
  expect(inside.text()).not.toContain('no sandbox')
})

const mend = { path: 'a.txt', old_string: 'two', new_string: 'TWO' }

describe('the terminal is restored', () => {
  test('FD-04 after Ctrl-C in a question, and keeps the session', async () => {
    const desk = openDesk(service.url)
    service.play([{ say: 'So: ' }, { call: 'shell', args: { command: 'touch never' } }])
    const terminal = sit(desk, ['x'], { shell: andThen })
    await terminal.until(asked('touch never'))
    terminal.type('\x03')
    expect(await terminal.ended).toBe(0)
    expectSane(terminal, 130)
    expect(existsSync(join(desk.cwd, 'never'))).toBe(false)
    service.play([{ say: 'again' }])
    expect(await desk.libero(['-c', 'go on'])).toMatchObject({ code: 0, out: 'again\n' })
    expect(said()).toContain('So: ')
  })

  test('FD-04 after Ctrl-C while text streams in, which stays', async () => {
    const desk = openDesk(service.url)
    const held = gate()
    service.play([{ say: 'Half an **answer** and' }, { hang: held }])
    const terminal = sit(desk, ['x'], { shell: andThen })
    await terminal.until('**answer** and')
    terminal.type('\x03')
    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).toMatch(
      /Half an answer and\n\nStopping; the session is kept.*\nstopped before it was done\n/,
    )
    expect(terminal.text()).not.toContain('**')
    expectSane(terminal, 130)
  })

  test('FD-04 at once after two Ctrl-C, even if a command does not end', async () => {
    const desk = openDesk(service.url)
    service.play([{ call: 'shell', args: { command: 'trap "" TERM INT; echo stubborn; sleep 60; sleep 60' } }])
    const terminal = sit(desk, ['--yolo', 'x'], { shell: andThen })
    await terminal.until(/^ {2}stubborn$/m)
    terminal.type('\x03\x03')
    expect(await terminal.ended).toBe(0)
    expectSane(terminal, 130)
  })

  test('FD-03 after SIGTERM in a question', async () => {
    const desk = openDesk(service.url)
    service.play([{ call: 'shell', args: { command: 'touch never' } }])
    const terminal = sit(desk, ['x'], { shell: andThen })
    await terminal.until(asked('touch never'))
    process.kill(Number(readFileSync(join(desk.cwd, 'pid'), 'utf8')), 'SIGTERM')
    expect(await terminal.ended).toBe(0)
    expectSane(terminal, 143)
  })

  test('after SIGTERM in the trust question, before anything started', async () => {
    const desk = openDesk(service.url)
    desk.write('AGENTS.md', 'Say BANANA.')
    const terminal = sit(desk, ['x'], { shell: andThen })
    await terminal.until(/▸ d .*Esc: not now/s)
    process.kill(Number(readFileSync(join(desk.cwd, 'pid'), 'utf8')), 'SIGTERM')
    expect(await terminal.ended).toBe(0)
    expectSane(terminal, 143)
    expect(service.requests).toEqual([])
  })

  test.each([
    ['in the middle of an answer', ['x'], '', 'Half'],
    ['in a conversation, which does not go on', ['run'], 'x\r', 'Half'],
    ['where a conversation waits', ['run'], '', 'enter sends'],
    ['at the question of trust', ['--cwd', 'strange', 'x'], '', /▸ d .*Esc: not now/s],
  ] as const)('FD-32 after an uncaught error, which is reported: %s', async (_, args, typed, seen) => {
    const desk = openDesk(service.url)
    desk.write('strange/AGENTS.md', 'Say BANANA.')
    const held = gate()
    service.play([{ say: 'Half' }, { hang: held }])
    const crash = `data:text/javascript,process.on('SIGUSR2',()=>{throw%20new%20Error('boom%5Cx1b[2J')})`
    const terminal = sit(desk, args, { shell: andThen, env: { NODE_OPTIONS: `--import="${crash}"` } })
    if (typed !== '') {
      await terminal.until('enter sends')
      terminal.type(typed)
    }
    await terminal.until(seen)
    process.kill(Number(readFileSync(join(desk.cwd, 'pid'), 'utf8')), 'SIGUSR2')
    expect(await terminal.ended).toBe(0)
    expect(terminal.text()).toContain('boom␛[2J')
    expectSane(terminal, 1)
  })
})

describe('a project with instructions of its own', () => {
  const question = /│ - instructions: AGENTS\.md\n.*▸ d {2}decline.*Esc: not now/s

  test('TR-13 the person is asked first; if declined, nothing of it is used, and the question is not repeated', async () => {
    const desk = openDesk(service.url)
    desk.write('AGENTS.md', 'Say BANANA.')
    const first = sit(desk, ['x'])
    await first.until(question)
    expect(service.requests).toEqual([])
    first.type('d')
    expect(await first.ended).toBe(0)
    const second = sit(desk, ['x'])
    expect(await second.ended).toBe(0)
    expect(second.text()).toContain('declined')
    expect(service.requests).toHaveLength(2)
    expect(JSON.stringify(service.requests)).not.toContain('BANANA')
  })

  test('TR-13 trust for one run is asked again next time; permanent trust is remembered', async () => {
    const desk = openDesk(service.url)
    desk.write('AGENTS.md', 'Say APPLE.')
    const once = sit(desk, ['x'])
    await once.until(question)
    desk.write('AGENTS.md', 'Say BANANA.') // a run that read it before the answer still has the apple
    once.type('o')
    expect(await once.ended).toBe(0)
    const forGood = sit(desk, ['x'])
    await forGood.until(question)
    forGood.type('t')
    expect(await forGood.ended).toBe(0)
    const later = sit(desk, ['x'])
    expect(await later.ended).toBe(0)
    expect(later.text()).not.toContain('trust')
    for (const request of service.requests) {
      expect(JSON.stringify(request)).toContain('BANANA')
      expect(JSON.stringify(request)).not.toContain('APPLE')
    }
    expect(service.requests).toHaveLength(3)
  })
})

test('without a task a conversation starts, which Ctrl-D ends; --resume lets the person choose a session', async () => {
  const desk = openDesk(service.url)
  const held = gate()
  service.play([{ say: 'Noted: *blue*.' }], [{ say: '**Blue**, ' }, { hang: held }, { say: 'you said.' }])
  const terminal = sit(desk, ['run'])
  await terminal.until('enter sends')
  terminal.type('remember blue\r')
  await terminal.until(/Noted: blue\.\n\n ›.*\n.*enter sends/)
  terminal.type('whichx\x7f colour?\r')
  await terminal.until('Blue**,')
  terminal.type('and \x1b[200~green\x1b[201~')
  held.open()
  // What was typed meanwhile is not in the middle of the answer, and waits to be sent.
  await terminal.until(/\n\nBlue, you said\.\n\n › and green *\n.*enter sends/)
  terminal.type('\x15\x03')
  await terminal.until('ctrl+c again leaves')
  terminal.type('\x04')
  expect(await terminal.ended).toBe(0)
  expect(terminal.text()).toMatch(/› remember blue\n.*› which colour\?\n/s)
  expect(terminal.text().match(/continue with: libero --continue/g)).toHaveLength(1)
  expect(said()).toMatch(/remember blue.*which colour\?/)
  expect(foreignIn(terminal.raw)).toEqual([])

  service.play([{ say: 'Still blue.' }])
  const again = sit(desk, ['--resume'])
  await again.until(/Sessions of .*▸ remember blue .*just now.*› which colour\?.*Enter opens/s)
  expect(again.isAlternate).toBe(true)
  again.type('/blue')
  await again.until(/▸ remember blue.*\/blue/s)
  again.type('\r')
  await again.until(/▸ remember blue.*Enter opens/s)
  again.type('\r')
  // Where the machine has no sandbox, a notice stands between.
  await again.until(/Blue, you said\.\n(?:·.*\n(?: {2}.*\n)*|\n)+ ›.*\n.*enter sends/)
  expect(service.requests).toHaveLength(2)
  again.type('and now?\r')
  await again.until(/Still blue\.\n\n ›.*\n.*enter sends/)
  again.type('exit\r')
  expect(await again.ended).toBe(0)
  expect(said()).toMatch(/remember blue.*which colour\?.*and now\?/)
})

test('images are attached only to the first task of a conversation', async () => {
  const desk = openDesk(service.url)
  const head = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  writeFileSync(join(desk.cwd, 'a.png'), Buffer.from(head, 'base64'))
  const terminal = sit(desk, ['run', '--image', 'a.png'])
  for (const [i, task] of ['one', 'two'].entries()) {
    await terminal.until((text) => service.requests.length === i && text.includes('enter sends'))
    terminal.type(`${task}\r`)
  }
  await terminal.until((text) => service.requests.length === 2 && text.includes('enter sends'))
  terminal.type('\x04')
  expect(await terminal.ended).toBe(0)
  expect(said().match(/data:image/g)).toHaveLength(1)
})

test('an approval that opens while the person types is not answered by the next key', async () => {
  const desk = openDesk(service.url)
  const held = gate()
  service.play([{ say: 'Well' }, { hang: held }, { call: 'shell', args: { command: 'touch never' } }])
  const terminal = sit(desk, ['x'])
  await terminal.until('Well')
  held.open()
  // Long enough for a letter to come when it would have been taken for an answer.
  for (let [typed, since] = [0, 0]; typed < 500 && since < 30; typed++) {
    if (terminal.text().includes('keys are ignored until')) since++
    terminal.type('yas'[typed % 3]!)
    await pause(20)
  }
  await terminal.until(asked('touch never'))
  terminal.type('n')
  expect(await terminal.ended).toBe(0)
  expect(existsSync(join(desk.cwd, 'never'))).toBe(false)
})

test('keys typed during a run are not shown, and Ctrl-Z suspends it', async () => {
  const desk = openDesk(service.url)
  const held = gate()
  service.play([{ say: 'One **two**' }, { hang: held }, { say: ' three.' }])
  const terminal = sit(desk, ['x'], { shell: 'set -m; "$@"; echo "left with $?"; stty -a; fg; echo "ended with $?"' })
  await terminal.until('One **two**')
  terminal.type('abc\r\r\x1b[A')
  terminal.type('\x1a')
  await terminal.until(/left with 1\d\d\n.* icanon .* echo /s)
  expect(terminal.raw.lastIndexOf('\x1b[?25l')).toBeLessThan(terminal.raw.lastIndexOf('\x1b[?25h'))
  held.open()
  expect(await terminal.ended).toBe(0)
  expect(terminal.text()).toMatch(/left with.*\n\nOne two three\.\n\n1 turn.*\n.*ended with 0$/s)
  expect(terminal.text()).not.toContain('abc')
})

test.each([30, 200])('fits a screen of %i columns', async (columns) => {
  const desk = openDesk(service.url)
  const long = 'some/rather/long/folder/with/a/file.txt'
  desk.write(long, `${'word '.repeat(60)}end\n`)
  service.play(
    [
      { say: `${'plenty of words '.repeat(20)}here.\n\n| name | what |\n|---|---|\n| a | ${'cell '.repeat(12)}|\n` },
      { call: 'edit', args: { path: long, old_string: 'end', new_string: 'END' } },
    ],
    [{ say: 'ok' }],
  )
  const terminal = sit(desk, ['x'], { columns, rows: 30 })
  await terminal.until(/Esc: no/)
  terminal.type('y')
  expect(await terminal.ended).toBe(0)
  const rows = terminal.rows()
  expect(rows.filter((row) => row.includes('here.'))).toHaveLength(1)
  expect(rows.join('').match(/plenty/g)).toHaveLength(20)
  expect(rows.some((row) => /^✓ edit some\/.*|^✓ edit .*…/.test(row))).toBe(true)
  expect(rows.join('\n')).not.toMatch(/▸|[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
  // Whatever can be broken was broken by us, between words.
  expect(
    terminal
      .text()
      .split('\n')
      .filter((line) => line.length > columns),
  ).toEqual([])
  expect(foreignIn(terminal.raw)).toEqual([])
})

test('NO_COLOR turns colours off, and TERM=dumb all escape sequences', async () => {
  const desk = openDesk(service.url)
  desk.write('a.txt', 'apples')
  const look = [{ say: 'I **look**.' }, { call: 'read_file', args: { path: 'a.txt' } }]
  service.play(look, [{ say: 'It is *apples*.' }], look, [{ say: 'It is *apples*.' }])
  const plain = sit(desk, ['x'], { env: { NO_COLOR: '1' } })
  expect(await plain.ended).toBe(0)
  expect(plain.text()).toMatch(/I look\.\n\n✓ read_file a\.txt.*\n\nIt is apples\.\n/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
  expect(plain.raw).not.toMatch(/\x1b\[[\d;]*m/)
  const dumb = sit(desk, ['x'], { env: { TERM: 'dumb' } })
  expect(await dumb.ended).toBe(0)
  expect(dumb.text()).toMatch(/I look\.\n\n✓ read_file a\.txt.*\n\nIt is apples\.\n/)
  expect(dumb.raw).not.toContain('\x1b')
})

test('an answer redirected to a file is plain text, while the terminal shows the rest and asks', async () => {
  const desk = openDesk(service.url)
  service.play(
    [{ say: 'So: **' }, { say: 'this**\n' }, { call: 'shell', args: { command: 'touch made' } }],
    [{ say: '# Made\x1b[1m' }],
  )
  const terminal = sit(desk, ['x'], { shell: '"$@" > out.txt' })
  await terminal.until(asked('touch made'))
  terminal.type('y')
  expect(await terminal.ended).toBe(0)
  expect(readFileSync(join(desk.cwd, 'out.txt'), 'utf8')).toBe('So: **this**\n# Made\x1b[1m\n')
  expect(terminal.text()).toContain('✓ shell touch made')
  expect(terminal.text()).not.toContain('So:')
  expect(foreignIn(terminal.raw)).toEqual([])
})

test('UI-01 UI-02 PI-07 escape sequences in text, commands, names and files are shown and have no effect', async () => {
  const desk = openDesk(service.url)
  const command = `printf '${hostile.replaceAll('\x1b', '\\033').replaceAll('\x07', '\\007')}out\\n'; false`
  service.play(
    [
      // One character at a time: no sequence is ever in one piece.
      ...[...`model ${hostile} text.\n\n`].map((say) => ({ say })),
      { call: 'shell', args: { command } },
    ],
    [{ call: 'read_file', args: { path: `name${hostile}` } }],
    [{ call: 'shell', args: { command: `touch 'made ${hostile}'` } }],
    [{ say: `\`\`\`\ncode ${hostile}\n\`\`\`\n\n[link ${hostile}](https://x.test/${hostile}) safe at the end` }],
  )
  const terminal = sit(desk, [`task ${hostile}`], { rows: 60, columns: 160 })
  await terminal.until(/command: printf.*▸ n {2}no.*Esc: no/s)
  terminal.type('y')
  await terminal.until(/command: touch 'made.*▸ n {2}no.*Esc: no/s)
  terminal.type('n')
  expect(await terminal.ended).toBe(0)
  expect(foreignIn(terminal.raw)).toEqual([])
  expect(terminal.titles).toEqual([])
  expect(terminal.isAlternate).toBe(false)
  const joined = terminal.rows().join('')
  for (const place of ['model ', '  ', 'name', "touch 'made "]) expect(joined).toContain(`${place}${shown}`)
  expect(terminal.text()).toContain(`code ${whole}\n`)
  expect(terminal.text()).toContain('safe at the end')
})

/** The clipboard, a link, the title, a device control string, a cleared screen, and the same in eight bits. */
const hostile =
  '\x1b]52;c;eA==\x07\x1b]8;;https://evil.test\x1b\\\x1b]0;title\x07\x1bP1$r\x1b\\\x1b[2J\x1b[1;1H\x9b2J\x9d0;t\x9c\x1b[?1049h'
const shown = '␛]52;c;eA==\\x07'
const whole = `${shown}␛]8;;https://evil.test␛\\␛]0;title\\x07␛P1$r␛\\␛[2J␛[1;1H\\x9b2J\\x9d0;t\\x9c␛[?1049h`

test('without a task, a terminal that cannot move its cursor gets the conversation in plain lines', async () => {
  const desk = openDesk(service.url)
  service.play([{ say: 'Hello.' }])
  const terminal = sit(desk, [], { env: { TERM: 'dumb' } })
  await terminal.until('libero waits for you')
  terminal.type('hi\r')
  await terminal.until('Hello.')
  terminal.type('\x04')
  expect(await terminal.ended).toBe(0)
  expect(terminal.raw).not.toContain('\x1b')
})

test('--plain takes the lines of a pipe as a conversation', async () => {
  const desk = openDesk(service.url)
  service.play([{ say: 'Hello.' }])
  const { code, out } = await desk.process(['--plain'], { stdin: '/cost\nhi\n' })
  expect(code).toBe(0)
  expect(out).toContain('No model call was made')
  expect(out).toMatch(/› hi\n\nHello\.\n/)
})
