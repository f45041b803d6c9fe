import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { testInTurns } from '../soak.ts'
import { type PseudoTerminal, startInTerminal } from './pseudo-terminal.ts'

// Each of them starts a process in a terminal.
const test = testInTurns(2)

const child = fileURLToPath(new URL('./person-child.ts', import.meta.url))

interface Result {
  readonly status: string
  readonly results: readonly string[]
  readonly decisions: readonly string[]
  readonly interrupts: number
  readonly secret?: string
}

interface Person extends PseudoTerminal {
  readonly folder: string
  result(): Promise<Result>
}

interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Record<string, string>
  /** A line of the shell around the program, which is `"$@"`. */
  readonly shell?: string
}

function sit(argv: readonly string[], { env, shell, ...size }: TerminalOptions = {}): Person {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-person-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const RESULT = join(folder, 'result.json')
  const program = [process.execPath, '--conditions=libero-source', child, ...argv] as const
  const line = shell === undefined ? program : (['/bin/sh', '-c', shell, 'sh', ...program] as const)
  const terminal = startInTerminal(line, { cwd: folder, env: { RESULT, LIBERO_HOME: folder, ...env }, ...size })
  return Object.assign(terminal, {
    folder,
    async result() {
      expect(await terminal.ended).toBe(0)
      return JSON.parse(readFileSync(RESULT, 'utf8')) as Result
    },
  })
}

/** A dialog about this file, as soon as keys count. */
const open = (name: string): RegExp => new RegExp(`command: \\w+ ${name}\\n.*▸ n  no.*Esc: no`, 's')

test('UI62 each key of an approval dialog works in a real terminal', async () => {
  const person = sit(['shell', 'touch once', 'mkdir session', 'touch no', 'touch why', 'touch arrows'])
  const steps = [
    ['once', 'y', '✓ allowed once: shell touch once'],
    ['session', 's', '✓ allowed in this session: every `mkdir` in this project'],
    ['no', 'n', '✗ not allowed: shell touch no'],
  ] as const
  for (const [name, key, said] of steps) {
    await person.until(open(name))
    person.type(key)
    await person.until(said)
  }
  await person.until(open('why'))
  person.type('r')
  await person.until('No, because:')
  person.type('naïve, 日本\x1b[D\x1b[D\x1b[3~\r')
  await person.until('✗ not allowed (naïve, 本): shell touch why')
  await person.until(open('arrows'))
  person.type('\x1b[A')
  await person.until('▸ s  yes, in this session: every `touch` in this project')
  person.type('\x1b')
  const { status, decisions } = await person.result()
  expect(status).toBe('completed')
  expect(decisions[3]).toBe('denied by user: naïve, 本')
  const made = ['once', 'session', 'no', 'why', 'arrows'].filter((name) => existsSync(join(person.folder, name)))
  expect(made).toEqual(['once', 'session'])
  // What is lively is gone, what was shown and decided has stayed.
  expect(person.text()).not.toContain('▸')
  expect(person.text()).toMatch(/Allow shell\?\n│ tool: shell.*│ {3}command: touch once/s)
  expect(person.raw.split('\x1b[?2004h').length).toBe(person.raw.split('\x1b[?2004l').length)
})

test('what was typed before the question opened does not answer it', async () => {
  const person = sit(['shell', 'touch early'])
  person.type('y\ry')
  await person.until('▸ n  no')
  person.type('y')
  await person.until(open('early'))
  person.type('n')
  await person.until('✗ not allowed: shell touch early')
  await person.result()
  expect(existsSync(join(person.folder, 'early'))).toBe(false)
})

test('what was typed while the process was too busy to read does not answer it either', async () => {
  const person = sit(['shell', 'touch busy'], { env: { BUSY_MS: '900' } })
  await person.until('▸ n  no')
  person.type('y')
  await person.until(open('busy'))
  person.type('n')
  await person.until('✗ not allowed: shell touch busy')
  await person.result()
  expect(existsSync(join(person.folder, 'busy'))).toBe(false)
})

test('Ctrl-C closes the dialog, cancels the turn and restores the terminal', async () => {
  const person = sit(['shell', 'touch never', 'touch neither'], { shell: '"$@" && stty -a' })
  await person.until(open('never'))
  person.type('\x03')
  await person.until('– interrupted')
  const { status, interrupts } = await person.result()
  expect({ status, interrupts }).toEqual({ status: 'AgentAbortedError', interrupts: 1 })
  expect(person.text()).not.toContain('neither')
  expect(person.text()).toMatch(/ icanon .* echo /s)
  expect(person.raw.lastIndexOf('\x1b[?25h')).toBeGreaterThan(person.raw.lastIndexOf('\x1b[?25l'))
  expect(existsSync(join(person.folder, 'never'))).toBe(false)
})

test('PI-07 UI-01 UI-02 a hostile and very long command is shown completely on a narrow screen, and cannot control it', async () => {
  const hostile = `echo '\x1b[2J\x1b[1;1HApproved\x1b]0;title\x07\x1b]52;c;eA==\x07\x9b8m\u202e' ${'x'.repeat(5000)}END # ${' '.repeat(70)}✓ allowed`
  const person = sit(['shell', hostile], { columns: 30, rows: 12 })
  await person.until(/▸ n {2}no.*Esc: no/s)
  const rows = person.rows().filter((row) => /^[│┆] /.test(row))
  const shown = rows
    .map((row) =>
      row.startsWith('│')
        ? `
${row.slice(2)}`
        : row.slice(2),
    )
    .join('')
  expect(shown).toContain(`${'x'.repeat(5000)}END`)
  expect(shown.replaceAll(' ', '')).toContain("echo'␛[2J␛[1;1HApproved␛]0;title\\x07␛]52;c;eA==\\x07\\x9b8m\\u202e'")
  expect(person.text()).toContain('lines above: scroll up')
  expect(person.rows().some((row) => /^\s*✓ allowed/.test(row))).toBe(false)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
  expect(person.raw).not.toMatch(/\x1b\]|\x9b|\u202e|\x1b\[1;1H|\x1b\[2J/)
  person.type('n')
  await person.until('✗ not allowed')
  await person.result()
})

test('a dialog stays usable when the screen becomes narrow', async () => {
  const person = sit(['shell', 'touch small'])
  await person.until(open('small'))
  person.resize(40, 15)
  person.type('\x1b[B')
  await person.until('▸ r  no, and say why')
  expect(person.rows().filter((row) => row.startsWith('▸'))).toHaveLength(1)
  person.type('\x1b')
  await person.until('✗ not allowed: shell touch small')
  await person.result()
})

test('a paste is an answer of several lines and presses no key', async () => {
  const person = sit(['ask', 'Which ports?'])
  await person.until('Enter: done')
  person.type('1\x15\x1b[200~80\r81\x03\x1b[201~')
  await person.until(/80\n +81/)
  person.type('\r')
  const { results } = await person.result()
  expect(results[0]).toContain('The user answered: 80\n81')
})

test('a secret is never on the screen, and Ctrl-C is an AbortError', async () => {
  const person = sit(['secret'])
  await person.until('key: ')
  person.type('sk-hidden')
  await person.until('(not shown)')
  person.type('-more\r')
  expect((await person.result()).secret).toBe('sk-hidden-more')
  expect(person.raw).not.toMatch(/hidden|more/)
  const other = sit(['secret'])
  await other.until('key: ')
  other.type('\x03')
  expect((await other.result()).secret).toBe('AbortError')
})

test('a task from a pipe leaves the terminal free for answers', async () => {
  const person = sit(['shell', 'touch piped'], { shell: 'echo "a task" | "$@"' })
  await person.until(open('piped'))
  person.type('y')
  await person.until('✓ allowed once: shell touch piped')
  await person.result()
  expect(existsSync(join(person.folder, 'piped'))).toBe(true)
})
