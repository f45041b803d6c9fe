import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect } from 'vitest'
import type { ExecutionContext, OpenFile } from '../../src/core/execution.ts'
import { AgentAbortedError, type ToolDef } from '../../src/index.ts'
import { call, type Step } from '../../src/testing/index.ts'
import { createGlobTool } from '../../src/tools/glob.ts'
import { createGrepTool } from '../../src/tools/grep.ts'
import { createAskUserTool, createWebFetchTool } from '../../src/tools/index.ts'
import { testInTurns } from '../soak.ts'
import {
  answersOf,
  asProgram,
  everyTool,
  longSleep,
  onLinux,
  openCallsOf,
  openWorld,
  until,
  untilGone,
  untilThere,
  type World,
  type WorldOptions,
  workerThreads,
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

const withTools = (tools: Record<string, ToolDef>): WorldOptions => ({ tools: { ...everyTool, ...tools } })

/** Has the model make a call and then another one; aborts as soon as the first is really at work. */
async function abortDuring(
  { agent, provider, use }: World,
  slow: readonly [name: string, input: Record<string, unknown>, ...deeper: Step[]],
  atWork: () => Promise<unknown>,
): Promise<void> {
  const [name, input, ...deeper] = slow
  provider.push(
    [call('slow', name, input), call('after', 'write_file', { path: 'never.txt', content: 'x' })],
    ...deeper,
  )
  const ended = agent.run({ prompt: 'go' }).then(
    () => 'it went on',
    (error: unknown) => error,
  )
  await Promise.race([atWork(), ended])
  agent.abort()
  await agent.waitForIdle()

  expect(await ended).toBeInstanceOf(AgentAbortedError)
  expect(agent.isRunning).toBe(false)
  expect(openCallsOf(agent.turns)).toEqual([])
  const answers = answersOf(agent.turns)
  const aborted = (when: string) => ({
    output: expect.stringMatching(new RegExp(`^Aborted: the run was stopped ${when}`)),
    isError: true,
  })
  expect(answers.get('slow')).toEqual(aborted('while this call ran'))
  expect(answers.get('after')).toEqual(aborted('before this call began; it did not run'))
  expect((await use('shell', { command: 'echo fine; ls never.txt' })).output).toMatch(/^fine\nls: /)
}

/** Resolves when a call has been on its way for a moment. */
async function begins({ agent }: World, tool: string): Promise<void> {
  await new Promise<void>((begun) => agent.hooks.hook('tool:before', ({ name }) => void (name === tool && begun())))
  await sleep(20)
}

describe.skipIf(!onLinux)('FT-22 a run that is aborted while (Linux only)', () => {
  test('a command runs leaves no process', async () => {
    const mark = longSleep()
    const command = `trap "" TERM; (setsid ${mark} &); ${mark}; ${mark}`
    await abortDuring(world(), ['shell', { command }], () => untilThere(mark))
    await untilGone(mark)
  })

  test('a background job is being started leaves no process and no job', async () => {
    const mark = longSleep()
    const begun = Promise.withResolvers<void>()
    const exec: (real: ExecutionContext) => ExecutionContext['exec'] =
      (real) =>
      (...given) => {
        begun.resolve()
        return real.exec(...given)
      }
    const here = world({ wrap: (real) => ({ ...real, exec: exec(real) }) })
    const starts = (): Promise<unknown> => begun.promise.then(() => Promise.race([untilThere(mark), sleep(100)]))
    await abortDuring(here, ['shell', { command: mark, background: true }], starts)
    await untilGone(mark)
    // Its process may be gone a moment before its job is.
    await expect.poll(async () => (await here.use('shell_output')).output).toBe('no job was started here')
  })

  test('a job is waited for leaves the job, which can still be stopped', async () => {
    const mark = longSleep()
    const here = world()
    await here.use('shell', { command: mark, background: true })
    const input = { job: 1, wait: 600_000, until: 'end' }
    await abortDuring(here, ['shell_output', input], () => begins(here, 'shell_output'))
    expect((await here.use('shell_stop', { job: 1 })).output).toMatch(/\(job 1: stopped after/)
    await untilGone(mark)
  })

  test('a job is being stopped ends the job all the same', async () => {
    const mark = longSleep()
    const here = world()
    await here.use('shell', { command: `trap "" TERM; ${mark}; ${mark}`, background: true })
    await abortDuring(here, ['shell_stop', { job: 1 }], () => begins(here, 'shell_stop'))
    await untilGone(mark)
  })

  test('ripgrep searches a big tree leaves no process', async () => {
    const here = world()
    const text = `${'wörd '.repeat(20)}\n`.repeat(10_000)
    for (let i = 0; i < 20; i++) here.put(`tree/${i}.txt`, text)
    const mark = `zz${crypto.randomUUID().slice(0, 8)}`
    // Takes some seconds: words in several scripts are not for the fast one of its engines.
    const pattern = `\\b(\\w{1,30}\\s){1,9}\\b(\\p{Greek}|${mark})`
    await abortDuring(here, ['grep', { pattern, path: 'tree' }], () => untilThere(mark))
    await untilGone(mark)
  })

  test('a program lists files and does not come to an end leaves no process', async () => {
    const mark = longSleep()
    const here = world({ tools: {} })
    here.put('rg', `#!/bin/sh\n${mark}\n${mark}\n`)
    chmodSync(here.at('rg'), 0o755)
    const searching = world(withTools({ glob: createGlobTool({ ripgrep: here.at('rg') }) }))
    await abortDuring(searching, ['glob', { pattern: '**' }], () => untilThere(mark))
    await untilGone(mark)
  })

  test('a pattern takes for ever without ripgrep leaves no thread', async () => {
    const here = world(withTools({ grep: createGrepTool({ ripgrep: false }) }))
    here.put('slow.txt', `${'a'.repeat(60)}b\n`)
    const before = workerThreads()
    const isThere = (): boolean => workerThreads() > before
    await abortDuring(here, ['grep', { pattern: '(a+)+$' }], () => until(isThere, 'the thread is there'))
    await until(() => !isThere(), 'the thread has ended')
  })

  test('a server is silent closes the connection', async () => {
    const sockets: Socket[] = []
    const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    closing.push(() => server.close())
    await once(server, 'listening')
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const here = world(withTools({ webFetch: createWebFetchTool({ allowPrivate: [host] }) }))
    await abortDuring(here, ['web_fetch', { url: `http://${host}/` }], () => until(() => sockets.length > 0, 'it asks'))
    for (const socket of sockets) socket.resume()
    await until(() => sockets.every(({ closed }) => closed), 'the connection is closed')
  })

  test('a big file is read stops reading and closes it', async () => {
    const seen = { reads: 0, open: 0 }
    const here = world({ wrap: (real) => watched(real, seen) })
    const [line, count] = ['a line of some length, as they are\n', 3_000_000]
    here.put('big.txt', line.repeat(count))
    const input = { path: 'big.txt', offset: 10_000_000 }
    await abortDuring(here, ['read_file', input], () => until(() => seen.reads > 1, 'it is read'))
    await until(() => seen.open === 0, 'it is closed')
    expect(seen.reads).toBeLessThan((line.length * count) / 1_048_576 / 2)
  })

  test('an edit waits for its turn leaves the file to the other', async () => {
    const gate = Promise.withResolvers<void>()
    let writes = 0
    const one = world({ wrap: (real) => ({ ...real, writeFile: (...given) => write(real, given) }) })
    async function write(real: ExecutionContext, given: Parameters<ExecutionContext['writeFile']>): Promise<void> {
      if (++writes === 1) await gate.promise
      return real.writeFile(...given)
    }
    const two = world({ execution: one.execution })
    one.put('shared.txt', 'one\ntwo\n')
    const first = one.use('edit', { path: 'shared.txt', old_string: 'one', new_string: '1' })
    await until(() => writes === 1, 'the first writes')
    const second = { path: './shared.txt', old_string: 'two', new_string: '2' }
    await abortDuring(two, ['edit', second], () => begins(two, 'edit'))
    gate.resolve()
    expect((await first).output).toMatch(/^Edited /)
    expect(one.held('shared.txt')).toBe('1\ntwo\n')
    expect((await two.use('edit', second)).output).toMatch(/^Edited /)
    expect(one.held('shared.txt')).toBe('1\n2\n')
  })

  test('a person is asked does not wait for the answer', async () => {
    const asked = Promise.withResolvers<void>()
    const onRequest = (): Promise<string> => {
      asked.resolve()
      return new Promise(() => {})
    }
    const here = world(withTools({ askUser: createAskUserTool({ onRequest }) }))
    await abortDuring(here, ['ask_user', { question: 'Why?' }], () => asked.promise)
  })

  test('a sub-agent works ends that too, and its command', async () => {
    const mark = longSleep()
    const child = [call('c1', 'shell', { command: mark })]
    await abortDuring(world(), ['spawn', { task: 'sleep' }, child], () => untilThere(mark))
    await untilGone(mark)
  })
})

test('after aborts in every tool nothing keeps the process from ending', async () => {
  const here = world()
  const program = await asProgram(here.around, lastingProgram)
  expect(program).toMatchObject({
    stderr: '',
    stdout: expect.stringMatching(/^(Aborted: the run was stopped while this call ran\..*\n){6}over\n$/),
  })
})

const lastingProgram = `
  import { createServer } from 'node:net'
  import { once } from 'node:events'
  import { createGrepTool } from ${JSON.stringify(new URL('../../src/tools/grep.ts', import.meta.url).href)}
  import { createAskUserTool, createWebFetchTool } from ${JSON.stringify(new URL('../../src/tools/index.ts', import.meta.url).href)}
  import { call, type Step } from ${JSON.stringify(new URL('../../src/testing/index.ts', import.meta.url).href)}
  const server = createServer().listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  server.on('connection', (socket) => socket.unref())
  const host = '127.0.0.1:' + server.address().port
  const tools = {
    ...kit.everyTool,
    grep: createGrepTool({ ripgrep: false }),
    webFetch: createWebFetchTool({ allowPrivate: [host] }),
    askUser: createAskUserTool({ onRequest: () => new Promise(() => {}) }),
  }
  const { agent, provider, put, close } = kit.openWorld({ tools })
  put('slow.txt', 'a'.repeat(60) + 'b')
  for (const [name, input] of [
    ['shell', { command: 'sleep 600' }],
    ['shell', { command: 'sleep 600', background: true }],
    ['grep', { pattern: '(a+)+$' }],
    ['web_fetch', { url: 'http://' + host + '/' }],
    ['ask_user', { question: 'Why?' }],
    ['spawn', { task: 'sleep' }],
  ]) {
    provider.push([call('1', name, input)], ...(name === 'spawn' ? [[call('2', 'shell', { command: 'sleep 600' })]] : []))
    const running = agent.run({ prompt: 'go' })
    setTimeout(() => agent.abort(), 150)
    await running.catch(() => {})
    console.log(agent.turns.at(-1).content[0].output)
  }
  await close()
  console.log('over')
`

/** Counts the reads of files, and how many are open. */
function watched(real: ExecutionContext, seen: { reads: number; open: number }): ExecutionContext {
  return {
    ...real,
    async openFile(handle, path) {
      const file = await real.openFile!(handle, path)
      seen.open++
      const read: OpenFile['read'] = (...part) => {
        seen.reads++
        return file.read(...part)
      }
      const close = (): Promise<void> => file.close().finally(() => seen.open--)
      return { ...file, read, close }
    },
  }
}
