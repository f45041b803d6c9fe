import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { rounds, testInTurns } from '../../../test/soak.ts'
import { endLeftovers, processIds, send } from '../../platform/leftover-processes.ts'
import { keeperMark } from '../../platform/process-keeper.ts'
import { createStdioTransport } from './stdio-transport.ts'

const test = testInTurns(2)

const onLinux = process.platform === 'linux'
if (!onLinux) console.warn('Not Linux: whether anything is left cannot be seen, and is not tested')

const server = fixture('stdio-server.mjs')

/** From the best behaved to the worst. */
const kinds = [
  ['good'],
  ['ignore-close'],
  ['ignore-close', 'ignore-term'],
  ['grandchild'],
  ['grandchild-session', 'ignore-close', 'ignore-term', 'deaf-grandchild'],
]

describe.skipIf(!onLinux)('FM-11 of servers nothing is left', () => {
  const starts = rounds(2, 20)
  test(`after ${starts * kinds.length} starts and stops`, { timeout: 100_000 }, async () => {
    const mark = planted()
    const runners = kinds.map(async (habits, runner) => {
      for (let n = 0; n < starts; n++)
        await startAndStop([server, ...habits], runner % 2 === n % 2 ? 'ready' : 'at once')
    })
    await Promise.all(runners)
    expect(await left(mark)).toEqual([])
  })

  test('when one is closed, also of its descendants', async () => {
    const mark = planted()
    const transport = await startAndStop([server, 'grandchild', 'grandchild-session', 'deaf-grandchild'], 'ready')
    expect(transport.ending).toBe('it exited with code 0')
    expect(await left(mark)).toEqual([])
  })

  test('when one crashes, of its descendants, before its end is reported', async () => {
    const mark = planted()
    const transport = createStdioTransport(configOf([server, 'grandchild', 'grandchild-session']), { limits })
    const closed = new Promise<void>((resolve) => (transport.onclose = resolve))
    await transport.start()
    await answered(transport)
    await transport.send({ jsonrpc: '2.0', method: 'kill' })
    await closed
    expect(await left(mark)).toEqual([])
  })

  test('when the program leaves by process.exit, without a keeper too', async () => {
    const { harness, mark } = await startHarness()
    const keeper = only(childrenOf(harness).filter((pid) => file(pid, 'cmdline').includes('libero-keeper')))
    send(keeper, 'SIGSTOP')
    onTestFinished(() => void send(keeper, 'SIGKILL'))
    harness.kill('SIGUSR2')
    if (harness.exitCode === null) await once(harness, 'exit')
    expect(harness.exitCode).toBe(0)
    await goneSoon(mark)
  })

  test.each(['SIGKILL', 'SIGTERM', 'SIGHUP'] as const)('when the program is ended by %s', async (signal) => {
    const { harness, mark, pids } = await startHarness()
    expect(pids.length).toBe(kinds.length)
    for (const pid of pids) expect(send(pid, 0)).toBe(true)
    harness.kill(signal)
    await goneSoon(mark)
  })
})

describe.skipIf(!onLinux)('the keeper', () => {
  test('is there with the first server, once, and gone with the last', async () => {
    const transports = [1, 2].map(() => createStdioTransport(configOf([server]), { limits }))
    await Promise.all(transports.map((transport) => transport.start()))
    expect(keepers().length).toBe(1)
    await transports[0]?.close()
    expect(keepers().length).toBe(1)
    await transports[1]?.close()
    await vi.waitFor(() => expect(keepers()).toEqual([]), 10_000)
  })

  test('is gone when a server could not be started', async () => {
    await expect(createStdioTransport({ ...configOf([]), command: 'no-such-thing' }).start()).rejects.toThrow('on PATH')
    await vi.waitFor(() => expect(keepers()).toEqual([]), 10_000)
  })

  test('lives in a session of its own, and does not mind the signals of a terminal', async () => {
    const transport = createStdioTransport(configOf([server]), { limits })
    await transport.start()
    const keeper = only(keepers())
    expect(statOf(keeper)[3]).toBe(String(keeper))
    await vi.waitFor(() => expect(ignoresSignals(keeper)).toBe(true), 10_000) // its first command sets that
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM', 'SIGQUIT'] as const) send(keeper, signal)
    await sleep(100)
    expect(send(keeper, 0)).toBe(true)
    await transport.close()
    await vi.waitFor(() => expect(keepers()).toEqual([]), 10_000)
  })

  test('is started again after it was killed', async () => {
    const transport = createStdioTransport(configOf([server]), { limits })
    onTestFinished(() => transport.close())
    await transport.start()
    const first = only(keepers())
    await sleep(1100) // one that ends at once is not
    send(first, 'SIGKILL')
    await vi.waitFor(() => expect(keepers()).toEqual([expect.not.toBeOneOf([first])]), 10_000)
  })

  test('ends the groups it was given, and never one that has ended, because its number may be reused', async () => {
    const [kept, forgotten] = [sleeper(), sleeper()]
    const { program } = await startProgram('stdio-watch.ts', String(kept.pid), String(forgotten.pid))
    program.kill('SIGKILL')
    await vi.waitFor(() => expect(kept.signalCode).toBe('SIGTERM'), 10_000)
    expect(forgotten.exitCode ?? forgotten.signalCode).toBeNull()
  })
})

const limits = { inputGraceMs: 150, termGraceMs: 150 }

function configOf(args: string[]) {
  return { name: 'small', transport: 'stdio', command: process.execPath, args } as const
}

async function startAndStop(args: string[], when: 'ready' | 'at once') {
  const transport = createStdioTransport(configOf(args), { limits })
  await transport.start()
  if (when === 'ready') await answered(transport)
  await transport.close()
  return transport
}

async function answered(transport: ReturnType<typeof createStdioTransport>): Promise<void> {
  const answer = new Promise<void>((resolve) => (transport.onmessage = () => resolve()))
  await transport.send({ jsonrpc: '2.0', id: 1, method: 'echo' })
  await answer
}

/** As inside an outer Libero process: all started processes carry this mark. */
function planted(): string {
  const mark: string = crypto.randomUUID()
  vi.stubEnv('LIBERO_MCP', mark)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await endLeftovers({ mark }, { graceMs: 0 })
  })
  return mark
}

/** The processes that still run; they are killed by this. */
function left(mark: string): Promise<string[]> {
  return endLeftovers({ mark }, { graceMs: 0 })
}

async function startHarness() {
  const mark = planted()
  const { program, line } = await startProgram('stdio-harness.ts', ...kinds.map((habits) => habits.join(',')))
  return { harness: program, mark, pids: line.split(' ').map(Number) }
}

/** Starts one of our programs, and waits for its first line. */
async function startProgram(name: string, ...args: string[]): Promise<{ program: ChildProcess; line: string }> {
  const argv = ['--conditions=libero-source', fixture(name), ...args]
  const program = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void program.kill('SIGKILL'))
  for await (const line of createInterface({ input: program.stdout })) return { program, line }
  throw new Error('The program said nothing')
}

function sleeper(): ChildProcess {
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Only lists: the mark is in the environment of all of them, except keepers. */
async function goneSoon(mark: string): Promise<void> {
  await vi.waitFor(() => expect(marked(mark)).toEqual([]), { timeout: 15_000, interval: 100 })
}

function marked(mark: string): number[] {
  return [...(processIds() ?? [])].filter((pid) => pid !== process.pid && file(pid, 'environ').includes(mark))
}

function childrenOf({ pid }: ChildProcess): number[] {
  return [...(processIds() ?? [])].filter((child) => statOf(child)[1] === String(pid))
}

/** A signal to process 0 would reach this process. */
function only(pids: readonly number[]): number {
  const [pid] = pids
  if (pid === undefined || pids.length !== 1) throw new Error(`There is not one process, but ${pids.length}`)
  return pid
}

/** The running processes of this process. */
function keepers(): number[] {
  return [...(processIds() ?? [])].filter((pid) => file(pid, 'cmdline').includes(keeperMark) && statOf(pid)[0] !== 'Z')
}

/** State, parent, group, session. */
function statOf(pid: number): string[] {
  const stat = file(pid, 'stat')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Whether SIGINT, the second signal, is in the mask of ignored signals. */
function ignoresSignals(pid: number): boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)/m.exec(file(pid, 'status'))?.[1] ?? '0'
  return (BigInt(`0x${mask}`) & 2n) !== 0n
}

function file(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

function fixture(name: string): string {
  return fileURLToPath(new URL(`../../../test/mcp/fixtures/${name}`, import.meta.url))
}
