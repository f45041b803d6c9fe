import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { AgentAbortedError, type ToolDef } from '../../src/index.ts'
import { call, tool } from '../../src/testing/index.ts'
import { createWebFetchTool } from '../../src/tools/index.ts'
import { asProgram, everyTool, flawsOf, openCallsOf, openWorld, type World, type WorldOptions } from './tools-kit.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function world(options: WorldOptions = {}): World {
  const opened = openWorld(options)
  closing.push(opened.close)
  return opened
}

const having = (...more: ToolDef[]): WorldOptions => ({
  tools: { ...everyTool, ...Object.fromEntries(more.map((one) => [one.spec.name, one])) },
})

describe('a tool at its worst', () => {
  const thrown: readonly (readonly [what: string, value: unknown, told: string])[] = [
    ['an Error', new Error('broken'), 'Tool error: broken'],
    ['an Error without a word', new RangeError(), 'Tool error: RangeError'],
    ['a text', 'just words', 'Tool error: just words'],
    ['undefined', undefined, 'Tool error: a thrown undefined'],
    ['null', null, 'Tool error: a thrown null'],
    ['an object that cannot be shown', { toString: null }, 'Tool error: a thrown object'],
  ]

  test.each(thrown)(
    'FT-01 throws %s, at once or later: the model reads it, and the run goes on',
    async (_, value, told) => {
      const now = tool('now', () => {
        throw value
      })
      const later = tool('later', async () => {
        await new Promise((resolve) => setImmediate(resolve))
        throw value
      })
      const here = world(having(now, later))
      const answers = await here.play([
        call('1', 'now'),
        call('2', 'later'),
        call('3', 'shell', { command: 'echo on' }),
      ])
      // A thrown `undefined` may be named as such: it is what happened.
      expect([answers.get('1'), answers.get('2')]).toEqual([
        { output: told, isError: true },
        { output: told, isError: true },
      ])
      expect(answers.get('3')!.output).toMatch(/^on\n/)
    },
  )

  test('FT-01 rejects after the abort: it is ignored', async () => {
    const late = Promise.withResolvers<string>()
    const here = world(having(tool('late', () => late.promise)))
    here.provider.push([call('1', 'late')])
    const running = here.agent.run({ prompt: 'go' })
    here.agent.hooks.hook('tool:before', () => setImmediate(() => here.agent.abort()))
    await expect(running).rejects.toBeInstanceOf(AgentAbortedError)
    const before = JSON.stringify(here.agent.turns)
    late.reject(new Error('too late'))
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(JSON.stringify(here.agent.turns)).toBe(before)
  })

  test('FT-02 is one of ten that run side by side: ten results, in their order', async () => {
    const bad = tool(
      'bad',
      () => {
        throw new Error('at once')
      },
      { isConcurrencySafe: true },
    )
    const here = world(having(bad))
    const calls = Array.from({ length: 10 }, (_, i) => {
      here.put(`${i}.txt`, `${i}\n`)
      return i === 4 ? call('4', 'bad') : call(`${i}`, 'read_file', { path: `${i}.txt` })
    })
    const answers = await here.play(calls)
    const wanted = calls.map(({ id }) => [id, id === '4' ? 'Tool error: at once' : `1\t${id}`])
    expect([...answers].map(([id, { output }]) => [id, output])).toEqual(wanted)
  })

  test('FT-03 never settles and ignores its signal: it times out, and its later result is dropped', async () => {
    const late = Promise.withResolvers<string>()
    const here = world(having(tool('deaf', () => late.promise, { timeoutMs: 30 })))
    const answers = await here.play([call('1', 'deaf'), call('2', 'list_files')])
    expect(answers.get('1')).toEqual({ output: 'Tool error: it took longer than 30 ms', isError: true })
    late.resolve('a second result')
    await here.use('list_files')
    expect(JSON.stringify(here.agent.turns)).not.toContain('a second result')
    expect(openCallsOf(here.agent.turns)).toEqual([])
  })

  let deep: unknown[] = []
  for (let i = 0; i < 20_000; i++) deep = [deep]
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const odd: readonly (readonly [what: string, value: unknown, words: RegExp])[] = [
    ['a BigInt', 12n, /^12$/],
    ['a BigInt in an object', { n: 12n }, /^Tool error: .*BigInt/],
    ['a cycle', cycle, /^Tool error: .*circular/i],
    ['a function', () => {}, /^Tool error: it returned a function$/],
    ['a symbol', Symbol('s'), /^Tool error: it returned a symbol$/],
    ['lists in lists, 20,000 deep', deep, /^Tool error: /],
    ['details that go round in a circle', { output: 'fine', details: cycle }, /^fine$/],
    ['details 20,000 deep', { output: 'fine', details: deep }, /^fine$/],
    ['half a character', 'a\ud800b', /^a\ufffdb$/],
  ]
  test.each(odd)('FT-06 returns %s: there is a result, and the run goes on', async (_, value, words) => {
    const here = world(having(tool('odd', () => value as string)))
    const answers = await here.play([call('1', 'odd')], [call('2', 'list_files')])
    expect(answers.get('1')!.output).toMatch(words)
    expect(answers.size).toBe(2)
  })
})

test.each([
  ['of another type', 'image/png', Buffer.from('<html>no image at all</html>'), /\[no text: image\/png, 28 bytes\]/],
  ['of 100 MB', 'image/png', Buffer.alloc(100_000_000, 1), /\[no text: image\/png, more than 5242880 bytes\]/],
])('FT-07 an image from the web %s is named and not sent', async (_, type, bytes, words) => {
  const server = createServer((_, response) => void response.writeHead(200, { 'content-type': type }).end(bytes))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const here = world({ tools: { webFetch: createWebFetchTool({ allowPrivate: [host] }) } })
  expect((await here.use('web_fetch', { url: `http://${host}/x.png` })).output).toMatch(words)
})

describe('a machine that gives nothing more', () => {
  test('FT-15 the working folder is gone: commands say so each time, others are not harmed, and it may come back', async () => {
    const [here, other] = [world(), world()]
    here.put('a.txt', 'one\n')
    rmSync(here.root, { recursive: true })
    for (let i = 0; i < 2; i++) {
      const { output, isError } = await here.use('shell', { command: 'ls' })
      expect(output).toMatch(/^Tool error: The working folder .*project does not exist \(any more\); create it, or use/)
      expect(isError).toBe(true)
      for (const [name, input] of readers) {
        const told = await here.use(name, input)
        expect([name, told.isError, flawsOf(told.output)]).toEqual([name, true, []])
      }
      expect((await other.use('shell', { command: 'echo fine' })).output).toMatch(/^fine\n/)
    }
    mkdirSync(here.root)
    expect((await here.use('shell', { command: 'echo back' })).output).toMatch(/^back\n/)
  })

  const readers: readonly (readonly [string, Record<string, unknown>])[] = [
    ['read_file', { path: 'a.txt' }],
    ['edit', { path: 'a.txt', old_string: 'one', new_string: 'two' }],
    ['list_files', {}],
    ['glob', { pattern: '**' }],
    ['grep', { pattern: 'one' }],
  ]

  test('FT-16 no room for what is written: the old content stays, and nothing is left beside it', async () => {
    const here = world()
    here.put('a.txt', 'one\n')
    const { stdout, stderr } = await program(
      here,
      'ulimit -f 64; export NODE_DISABLE_COMPILE_CACHE=1',
      `
      const content = 'x'.repeat(1_000_000)
      await say('write_file', { path: 'a.txt', content })
      await say('write_file', { path: 'new/b.txt', content })
      await say('edit', { path: 'a.txt', old_string: 'one', new_string: content })
      await say('multi_edit', { path: 'a.txt', edits: [{ old_string: 'one', new_string: content }] })
      await say('edit', { path: 'a.txt', old_string: 'one', new_string: 'two' })`,
    )
    expect(stderr).toBe('')
    const answers = JSON.parse(stdout)
    expect(answers.slice(0, 4)).toEqual(
      Array(4).fill([
        true,
        expect.stringMatching(
          /^Tool error: the file would be larger than this system allows; ".*" was left as it was$/,
        ),
      ]),
    )
    expect(answers[4]).toEqual([false, 'Edited a.txt (1 replacement, line 1)'])
    expect(here.held('a.txt')).toBe('two\n')
    expect(readdirSync(here.root).sort()).toEqual(['a.txt', 'new'])
    expect(readdirSync(here.at('new'))).toEqual([])
  })

  test('FT-17 no descriptor is left: every tool says so, and all work again when there are some', async () => {
    const here = world()
    here.put('a.txt', 'one\n')
    const { stdout, stderr } = await program(
      here,
      'ulimit -n 64',
      `
      import { closeSync, openSync } from 'node:fs'
      const calls = [...${JSON.stringify(readers)}, ['write_file', { path: 'b.txt', content: 'b' }], ['shell', { command: 'echo fine' }]]
      const all = async () => { for (const [name, input] of calls) await say(name, input) }
      await all()
      const open = []
      try { for (;;) open.push(openSync('/dev/null')) } catch {}
      await all()
      for (const fd of open) closeSync(fd)
      await all()`,
    )
    expect(stderr).toBe('')
    const answers: [boolean, string][] = JSON.parse(stdout)
    const [first, full, last] = [answers.slice(0, 7), answers.slice(7, 14), answers.slice(14)]
    expect(first.map(([isError]) => isError)).toEqual(Array(7).fill(false))
    expect(full).toEqual(Array(7).fill([true, expect.stringMatching(/too many (open files|files are open)/)]))
    // The text that the edit looks for was replaced the first time.
    expect(last.map(([isError]) => isError)).toEqual([false, true, false, false, false, false, false])
  })

  /** Has an agent in a process of its own, under limits, work in the folder of this world; prints what it was told. */
  async function program({ around, root }: World, limits: string, script: string) {
    const imports = script.match(/^\s*import .*$/m)?.[0] ?? ''
    return asProgram(
      around,
      `${imports}
      import { createProcessContext } from ${JSON.stringify(new URL('../../src/execution/process.ts', import.meta.url).href)}
      const execution = createProcessContext({ cwd: ${JSON.stringify(root)} })
      const world = kit.openWorld({ execution, behavior: { dedupReads: false } })
      const answers = []
      const say = async (name, input) => { const { isError, output } = await world.use(name, input); answers.push([isError, output]) }
      ${script.replace(imports, '')}
      await world.close()
      console.log(JSON.stringify(answers))`,
      { limits },
    )
  }
})
