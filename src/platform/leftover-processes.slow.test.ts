import { type ChildProcess, spawn } from 'node:child_process'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { endLeftovers, killLeftovers, processIds } from './leftover-processes.ts'

const onLinux = process.platform === 'linux'
if (!onLinux) console.warn('Not Linux: how processes are found by their mark is not tested')

const children: ChildProcess[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.splice(0).map(endOf))
})

describe.skipIf(!onLinux)('by their mark', () => {
  test('only what carries it is ended, and named', async () => {
    const mark = crypto.randomUUID()
    const [marked, other] = [sleeper(mark, '600'), sleeper('another', '601')]
    expect(await endLeftovers({ mark }, { graceMs: 1000 })).toEqual(['sleep 600'])
    expect(await endOf(marked)).toBe('SIGTERM')
    expect(other.exitCode ?? other.signalCode).toBeNull()
  })

  test('what ran before is left alone', async () => {
    const mark = crypto.randomUUID()
    sleeper(mark, '600')
    const before = processIds()
    sleeper(mark, '601')
    expect(await endLeftovers({ mark, before }, { graceMs: 1000 })).toEqual(['sleep 601'])
    expect(await endLeftovers({ mark }, { graceMs: 1000 })).toEqual(['sleep 600'])
  })

  test('what does not listen is killed after the grace', async () => {
    const mark = crypto.randomUUID()
    const deaf = start('sh', ['-c', `trap '' TERM; echo deaf; exec sleep 602`], mark)
    await new Promise((resolve) => deaf.stdout?.once('data', resolve))
    expect(await endLeftovers({ mark }, { graceMs: 100 })).toEqual([expect.stringContaining('sleep 602')])
    expect(await endOf(deaf)).toBe('SIGKILL')
  })

  test('without waiting, all of it is killed', async () => {
    const mark = crypto.randomUUID()
    const both = [sleeper(mark, '600'), sleeper(mark, '601')]
    killLeftovers({ mark })
    expect(await Promise.all(both.map(endOf))).toEqual(['SIGKILL', 'SIGKILL'])
  })

  test('long lists of processes and long command lines are shortened', async () => {
    const mark = crypto.randomUUID()
    for (let n = 0; n < 52; n++) sleeper(mark, '600')
    sleeper(mark, '600', ...Array.from({ length: 100 }, () => '1000'))
    const named = await endLeftovers({ mark }, { graceMs: 1000 })
    expect(named.length).toBe(51)
    expect(named.at(-1)).toBe('… and 3 more')
    const long = crypto.randomUUID()
    sleeper(long, ...Array.from({ length: 100 }, () => '1000'))
    expect((await endLeftovers({ mark: long }, { graceMs: 1000 }))[0]).toMatch(/^sleep 1000 .{188}…$/)
  })
})

test('where processes cannot be listed, the group is ended and named', async () => {
  vi.spyOn(process, 'platform', 'get').mockReturnValue('darwin')
  const leader = start('sh', ['-c', 'sleep 603 & sleep 0.2; echo on; wait'], 'none')
  await new Promise((resolve) => leader.stdout?.once('data', resolve))
  const named = await endLeftovers({ mark: 'none', group: leader.pid! }, { graceMs: 1000 })
  expect(named).toContain('sleep 603')
  expect(await endOf(leader)).toBe('SIGTERM')
  expect(await endLeftovers({ mark: 'none', group: leader.pid! }, { graceMs: 1000 })).toEqual([])
})

function sleeper(mark: string, ...seconds: string[]): ChildProcess {
  return start('sleep', seconds, mark)
}

function start(file: string, args: string[], mark: string): ChildProcess {
  const env = { PATH: process.env.PATH, MARK: mark }
  const child = spawn(file, args, { env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(child)
  return child
}

async function endOf(child: ChildProcess): Promise<string | number | null> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve))
  return child.signalCode ?? child.exitCode
}
