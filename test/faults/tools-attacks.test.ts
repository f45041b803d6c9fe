import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { createGlobTool } from '../../src/tools/glob.ts'
import { createGrepTool } from '../../src/tools/grep.ts'
import { createWebFetchTool } from '../../src/tools/index.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import {
  asProgram,
  canRunAs,
  everyTool,
  flawsOf,
  openWorld,
  processesWith,
  untilGone,
  type World,
  type WorldOptions,
} from './tools-kit.ts'

const test = testInTurns(2)

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function world(options: WorldOptions = {}): World {
  const opened = openWorld(options)
  closing.push(opened.close)
  return opened
}

const secret = 'CANARY-of-the-outside'

const searches = [
  ['with ripgrep', everyTool],
  ['without', { ...everyTool, grep: createGrepTool({ ripgrep: false }), glob: createGlobTool({ ripgrep: false }) }],
] as const

describe.each(sampleOf(searches, 1))('a search %s', (_, tools) => {
  /** A folder with names that are commands or options, and a program that would leave a trace. */
  function trap(): World {
    const here = world({ tools, behavior: { dedupReads: false } })
    here.put('plain.txt', 'needle\n')
    here.put('helper.sh', '#!/bin/sh\ntouch "$(dirname "$0")/pwned"\necho needle\n')
    chmodSync(here.at('helper.sh'), 0o755)
    for (const name of names) here.put(name, 'needle\n')
    return here
  }
  const names = [
    '-rf',
    '--pre=.',
    '-e',
    '--',
    '$(touch pwned)',
    '`touch pwned`',
    'a;touch pwned',
    "it's",
    'a\nb',
    '*',
    ' ',
  ]

  test('FS-16 takes no pattern for an option, and no name for a command', async () => {
    const here = trap()
    const patterns = [
      '--pre=./helper.sh',
      '-f/etc/passwd',
      '--',
      '-e',
      '$(touch pwned)',
      '`touch pwned`',
      "';touch pwned;'",
      '--hostname-bin=./helper.sh',
    ]
    for (const pattern of patterns) {
      for (const input of [
        { pattern },
        { pattern: 'needle', glob: pattern },
        { pattern: 'needle', type: pattern },
        { pattern: 'needle', path: pattern },
      ]) {
        const { output } = await here.use('grep', input)
        expect(output).not.toContain('root:')
      }
      await here.use('glob', { pattern })
      await here.use('glob', { pattern: '**', path: pattern })
    }
    for (const pattern of ['-exec', '-delete']) await here.use('glob', { pattern })
    expect(existsSync(here.at('pwned'))).toBe(false)
    expect(readdirSync(here.root)).toHaveLength(names.length + 2)
  })

  test('FS-16 finds and reads files whose names are options or commands', async () => {
    const here = trap()
    for (const name of names) {
      expect((await here.use('grep', { pattern: 'needle', path: name })).output, name).not.toMatch(/^No matches/)
      expect((await here.use('read_file', { path: name })).output, name).toBe('1\tneedle')
      const edited = await here.use('edit', { path: name, old_string: 'needle', new_string: 'pin' })
      expect(edited.isError, name).toBe(false)
    }
    expect(existsSync(here.at('pwned'))).toBe(false)
  })

  test('FS-17 follows no link, and reads no file that tells ripgrep what to do', async () => {
    const config = (folder: string): void => writeFileSync(join(folder, '.ripgreprc'), '--pre=./helper.sh\n--follow\n')
    const here = trap()
    config(here.root)
    config(here.around)
    const there = openWorld({
      tools,
      place: { cwd: here.root, env: { RIPGREP_CONFIG_PATH: here.at('.ripgreprc'), HOME: here.around } },
    })
    closing.push(there.close)
    writeFileSync(join(here.around, 'secret.txt'), secret)
    mkdirSync(here.at('links'))
    symlinkSync('/', here.at('links/root'))
    symlinkSync(here.around, here.at('links/up'))
    symlinkSync('..', here.at('links/round'))
    symlinkSync(join(here.around, 'secret.txt'), here.at('links/file'))
    for (const input of [
      { pattern: secret },
      { pattern: secret, path: 'links' },
      { pattern: secret, glob: 'links/**' },
    ]) {
      expect(await there.use('grep', input)).toEqual({ output: 'No matches found', isError: false })
    }
    expect((await there.use('glob', { pattern: '**', path: 'links' })).output).toBe('No files found')
    for (const path of ['links/root', 'links/up', 'links/file']) {
      const { output, isError } = await there.use('grep', { pattern: 'x', path })
      expect(output).toMatch(/outside the folders that tools may use/)
      expect(isError).toBe(true)
    }
    expect(existsSync(here.at('pwned'))).toBe(false)
  })

  test('FT-27 FS-14 opens no pipe and no device that lies in the folder', async () => {
    const here = world({ tools })
    here.put('plain.txt', 'needle\n')
    execFileSync('mkfifo', [here.at('pipe'), here.at('pipe.txt')])
    symlinkSync('/dev/zero', here.at('zero'))
    expect((await here.use('grep', { pattern: 'needle' })).output).toBe('plain.txt')
    expect((await here.use('glob', { pattern: '**' })).output).toBe('plain.txt')
  })
})

describe('FS-18 a result that goes to a file', () => {
  const behavior = { persistThreshold: 100, persistDir: 'results' }

  test('follows no link that was prepared before', async () => {
    const told: string[] = []
    const opened = (): World => {
      let n = 0
      const hooks = { 'hook:error': ({ hook }: { hook: string }) => void told.push(hook) }
      return world({ behavior, hooks, newId: () => `id${++n}` })
    }
    const first = opened()
    await first.use('shell', { command: 'seq 100' })
    const [name] = readdirSync(first.at('results'))

    const here = opened()
    const target = join(here.around, 'target.txt')
    writeFileSync(target, secret)
    mkdirSync(here.at('results'))
    symlinkSync(target, here.at(`results/${name}`))
    const { output } = await here.use('shell', { command: 'seq 100' })
    expect(output).toMatch(/^1\n2\n3\n[\d\n]*100\n\(exit 0/)
    expect(readFileSync(target, 'utf8')).toBe(secret)
    expect(told).toEqual(['persist-results'])
  })
})

describe('what does something to a terminal', () => {
  const sequences: Readonly<Record<string, string>> = {
    'UI-01 a cleared screen': '\x1b[2J\x1b[1;1HApproved',
    'UI-01 hidden text': '\x1b[8mhidden\x1b[0m',
    'UI-02 the clipboard': '\x1b]52;c;cm0gLXJm\x07',
    'UI-02 a link that lies': '\x1b]8;;https://evil.test\x1b\\good.test\x1b]8;;\x1b\\',
    'UI-02 the title': '\x1b]0;title\x07\x1b]2;title\x1b\\',
    'UI-02 DCS and APC': '\x1bPq#0\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\',
    'UI-02 8-bit controls': '\x9b2J\x9d52;c;QQ==\x9c\x90q\x9c',
    'UI-01 bells, backspaces and such': 'safe\b\b\b\bevil\x07\x0e\x0f\x7f',
  }

  test.each(Object.entries(sequences))('%s is shown and does nothing, whichever tool found it', async (_, sequence) => {
    const server = createServer((_, response) => void response.end(`before ${sequence} after`))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(
      () => server.closeAllConnections(),
      () => server.close(),
    )
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const here = world({ tools: { ...everyTool, webFetch: createWebFetchTool({ allowPrivate: [host] }) } })
    const name = `${sequence.replaceAll('/', '_')}.txt`
    here.put('text', `before ${sequence} after\n`)
    here.put(name, 'needle\n')
    const bytes = [...Buffer.from(sequence)].map((byte) => `printf '\\${byte.toString(8)}'`).join('; ')
    const outputs = [
      await here.use('shell', { command: 'cat text; cat text >&2; ls' }),
      await here.use('shell', { command: `${bytes}; exit 3` }),
      await here.use('shell', { command: `cat text; exec sleep 600`, background: true }),
      await here.use('shell_stop', { job: 1 }),
      await here.use('grep', { pattern: 'before', output_mode: 'content' }),
      await here.use('grep', { pattern: 'needle' }),
      await here.use('glob', { pattern: '**' }),
      await here.use('list_files'),
      await here.use('web_fetch', { url: `http://${host}/` }),
    ]
    for (const { output } of outputs) expect([output, flawsOf(output)]).toEqual([output, []])
    const progress = await progressOf(here, bytes)
    expect(flawsOf(progress)).toEqual([])
  })

  async function progressOf({ agent, use }: World, command: string): Promise<string> {
    let told = ''
    agent.hooks.hook('tool:progress', ({ text }) => void (told += text))
    await use('shell', { command })
    return told || '(none)'
  }

  test('UI-10 a name that is markup is given as the text that it is', async () => {
    const here = world()
    const name = '<img src=x onerror=alert(1)>'
    here.put(name, 'needle\n')
    expect((await here.use('list_files')).output).toBe(name)
    expect((await here.use('glob', { pattern: '**' })).output).toBe(name)
    expect((await here.use('grep', { pattern: 'needle' })).output).toBe(name)
    expect((await here.use('read_file', { path: `${name}.` })).output).toBe(
      `Tool error: there is no "${name}."; did you mean "${name}"?`,
    )
  })
})

// The limit counts all processes of a user: one that has no others.
const lonely = 54_000 + (process.pid % 1000)
test.skipIf(!canRunAs(lonely))(
  'RS-02 a fork bomb is held by the limit, and the agent goes on (skipped unless root on Linux)',
  async () => {
    const here = world()
    chmodSync(here.around, 0o755)
    const mark = `bomb-${crypto.randomUUID()}`
    const { stdout, stderr } = await asProgram(
      here.around,
      `
    const world = kit.openWorld({ place: { limits: { processes: 40 }, env: { MARK: ${JSON.stringify(mark)} } } })
    const answers = []
    answers.push(await world.use('shell', { command: 'bomb() { bomb | bomb & }; bomb; sleep 1; echo over', timeout: 4000 }))
    answers.push(await world.use('shell', { command: 'echo fine' }))
    await world.close()
    console.log(JSON.stringify(answers))`,
      { uid: lonely },
    )
    expect(stderr).toBe('')
    const [bomb, next] = JSON.parse(stdout)
    expect(bomb.output).toMatch(/Resource temporarily unavailable|Cannot fork|fork: retry/)
    expect(next.output).toMatch(/^fine\n\(exit 0/)
    await untilGone(mark)
    expect(processesWith(mark)).toEqual([])
  },
)
