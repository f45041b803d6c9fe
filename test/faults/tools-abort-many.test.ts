import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentAbortedError } from '../../src/index.ts'
import { call, type Step } from '../../src/testing/index.ts'
import { createWebFetchTool } from '../../src/tools/index.ts'
import { rounds } from '../soak.ts'
import {
  answersOf,
  everyTool,
  onLinux,
  openCallsOf,
  openWorld,
  processesWith,
  until,
  workerThreads,
} from './tools-kit.ts'

/** Takes connections and says nothing. */
const server = createServer((socket) => socket.on('error', () => {}).resume())
let host = ''
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const connections = (): Promise<number> => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))

const runs = rounds(12, 100)
const sideBySide = 5
/** The longest that a run is left alone before it is aborted; a whole one takes about that. */
const mostMs = 700

/** The same numbers in every run of this test: a failure can be looked at again. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

test.skipIf(!onLinux)(
  `FT-22 RS-03 ${runs} runs with every tool, half of them aborted at some moment, leave nothing (Linux only)`,
  { timeout: 180_000 },
  async () => {
    const next = numbers(20_240_601)
    const moments = Array.from({ length: runs }, (_, i) => (i % 2 === 0 ? Math.floor(next() * mostMs) : undefined))
    const mark = `many-${crypto.randomUUID()}`
    const threads = workerThreads()
    let ended = 0
    let aborted = 0
    const queue = moments.values()
    const runner = async (): Promise<void> => {
      for (const moment of queue) {
        const outcome = await oneRun(mark, moment)
        if (outcome === 'aborted') aborted++
        else ended++
      }
    }
    await Promise.all(Array.from({ length: sideBySide }, runner))
    expect(ended + aborted).toBe(runs)
    expect(aborted).toBeGreaterThan(runs / 4)
    expect(ended).toBeGreaterThanOrEqual(runs / 2)
    await until(() => processesWith(mark).length === 0, 'no process is left')
    await until(() => workerThreads() === threads, 'no thread is left')
    for (let tries = 0; (await connections()) > 0 && tries < 100; tries++) await sleep(20)
    expect(await connections()).toBe(0)
  },
)

async function oneRun(mark: string, abortAt: number | undefined): Promise<'aborted' | 'ended'> {
  const tools = { ...everyTool, webFetch: createWebFetchTool({ allowPrivate: [host], timeoutMs: 200 }) }
  const world = openWorld({ place: { env: { MARK: mark } }, tools })
  const { agent, provider, put } = world
  put('a.txt', 'one\ntwo\n')
  provider.push(...script())
  const running = agent.run({ prompt: 'go' })
  const timer = abortAt === undefined ? undefined : setTimeout(() => agent.abort(), abortAt)
  try {
    const outcome = await running.then(
      () => 'ended' as const,
      (error: unknown) => {
        expect(error).toBeInstanceOf(AgentAbortedError)
        return 'aborted' as const
      },
    )
    expect(agent.isRunning).toBe(false)
    expect(openCallsOf(agent.turns)).toEqual([])
    if (outcome === 'ended') expect(answersOf(agent.turns).size).toBe(13)
    return outcome
  } finally {
    clearTimeout(timer)
    await world.close()
  }
}

/** Every tool once or more, with commands that leave things running in every way. */
function script(): Step[] {
  return [
    [
      call('1', 'shell', { command: '(setsid sleep 600 &) ; sleep 600 & sleep 0.05; echo done' }),
      call('2', 'shell', { command: 'trap "" TERM; echo up; sleep 600; sleep 600', background: true }),
    ],
    [
      call('3', 'read_file', { path: 'a.txt' }),
      call('4', 'grep', { pattern: 'one' }),
      call('5', 'glob', { pattern: '**' }),
      call('6', 'list_files', {}),
      call('7', 'web_fetch', { url: `http://${host}/` }),
    ],
    [
      call('8', 'edit', { path: 'a.txt', old_string: 'one', new_string: 'uno' }),
      call('9', 'multi_edit', { path: 'a.txt', edits: [{ old_string: 'two', new_string: 'due' }] }),
      call('10', 'write_file', { path: 'b.txt', content: 'b\n' }),
      call('11', 'todowrite', { todos: ['more'] }),
    ],
    [call('12', 'spawn', { task: 'look' }), call('13', 'shell_output', { job: 1 })],
    [call('c1', 'shell', { command: 'sleep 600 & nohup setsid sleep 600 & sleep 0.05' })],
    'the child is done',
    'fin',
  ]
}
