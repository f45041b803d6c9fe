import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createSqliteStore, type SqliteStore } from '../../src/sessions/sqlite-store.ts'
import { texts } from '../../src/testing/scripted.ts'
import { createScheduleBook } from '../../src/workflow/schedules/schedule-book.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { temporary } from '../temporary.ts'
import { fastClock } from './fixtures/fast-clock.ts'

/** A minute takes two seconds, and an owner that went silent is followed by another after one. */
const times = 30
const minute = 60_000

test('D045 two processes over one file: one of them fires, the other takes over when it is killed, and nothing is fired twice or lost', async () => {
  const path = join(await temporary('schedules-'), 'sessions.db')
  const begin = Date.now()
  const clock = fastClock(begin, times)
  const store = createSqliteStore({ path, clock })
  onTestFinished(() => store.close())
  const schedules = createScheduleBook({ store, clock })
  const created = await makeAgents(store, clock)
  const inAWhile = (ms: number): string => new Date(clock.now() + ms).toISOString()
  await schedules.add({ id: 'once', agentId: 'agent-b', message: 'Once', when: { type: 'at', at: inAWhile(80_000) } })

  const children = [startChild([path, String(begin), String(times)]), startChild([path, String(begin), String(times)])]
  const asked = (): string[] => children.flatMap(({ lines }) => lines.filter((line) => line.startsWith('asked')))
  await until(() => children.every(({ lines }) => lines.includes('ready')))
  await until(() => asked().includes('asked Once') && asked().filter((line) => line === 'asked Go on').length >= 2)

  // It is killed while its model is answering what no other message follows.
  await schedules.add({ id: 'last', agentId: 'agent-b', message: 'Last', when: { type: 'at', at: inAWhile(15_000) } })
  await until(() => asked().includes('asked Last'))
  const owner = children.find(({ lines }) => lines.includes('asked Last'))!
  const other = children.find((child) => child !== owner)!
  owner.process.kill('SIGKILL')
  await schedules.add({ id: 'orphan', agentId: 'agent-c', message: 'Orphan', when: { type: 'at', at: inAWhile(2000) } })

  await until(() => other.lines.includes('asked Orphan') && other.lines.includes('asked Last'))
  const before = other.lines.length
  await until(() => other.lines.slice(before).includes('asked Go on'))
  // Each becomes one message and one answer, that of the process which died included.
  await vi.waitFor(async () => {
    expect(await saidIn(store, 'agent-b')).toEqual(['user: Once', 'assistant: Done.', 'user: Last', 'assistant: Done.'])
    expect(await saidIn(store, 'agent-c')).toEqual(['user: Orphan', 'assistant: Done.'])
  }, waitLimits)
  other.process.stdin!.end()
  await other.ended

  expect(children.flatMap(({ lines }) => lines.filter((line) => line.startsWith('error')))).toEqual([])
  const keys = await Promise.all(['agent-a', 'agent-b', 'agent-c'].map((id) => heardBy(store, id)))
  const dues = keys[0]!.map((key) => Number(key.split(':').at(-1)))
  expect(new Set(dues).size).toBe(dues.length)
  expect(dues.filter((due) => (due - created) % minute !== 0)).toEqual([])
  expect(keys[1]!.map((key) => key.split(':')[1])).toEqual(['once', 'last'])
  expect(keys[2]!.map((key) => key.split(':')[1])).toEqual(['orphan'])
  const said = await saidIn(store, 'agent-a')
  expect(said.filter((text) => text.startsWith('user'))).toEqual(dues.map(() => 'user: Go on'))
}, 60_000)

/** Three agents, of which one is woken every minute; says from when on. */
async function makeAgents(store: SqliteStore, clock: ReturnType<typeof fastClock>): Promise<number> {
  const provider = () => {
    throw new Error('no model is called here')
  }
  const workflow = createWorkflow({ store, clock, provider, definitions: [{ id: 'woken' }] })
  for (const id of ['agent-a', 'agent-b', 'agent-c']) await workflow.createAgent('woken', { id })
  const when = { type: 'interval', everySeconds: 60 } as const
  const { createdAt } = await workflow.schedules.add({ id: 'each', agentId: 'agent-a', message: 'Go on', when })
  await workflow.close()
  return createdAt
}

async function heardBy(store: SqliteStore, agentId: string): Promise<string[]> {
  return (await store.read(agentId)).flatMap((entry) => (entry.type === 'input' ? [entry.clientKey] : []))
}

async function saidIn(store: SqliteStore, agentId: string): Promise<string[]> {
  return texts((await store.read(agentId)).flatMap((entry) => (entry.type === 'turn' ? [entry.turn] : [])))
}

interface Child {
  readonly process: ChildProcess
  readonly lines: string[]
  readonly ended: Promise<void>
}

const program = fileURLToPath(new URL('fixtures/waking-child.ts', import.meta.url))

function startChild(args: readonly string[]): Child {
  const flags = ['--conditions=libero-source', '--no-warnings']
  const child = spawn(process.execPath, [...flags, program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  let rest = ''
  child.stdout.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop()!
    lines.push(...parts)
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { process: child, lines, ended }
}

const waitLimits = { timeout: 20_000, interval: 20 }

const until = (isTrue: () => boolean): Promise<void> => vi.waitFor(() => expect(isTrue()).toBe(true), waitLimits)
