import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { rounds, sampleOf } from '../../test/soak.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { createAgent } from '../create-agent.ts'
import { createProcessContext } from '../execution/process.ts'
import { call, memoryExecution, scripted, texts } from '../testing/index.ts'
import { shell } from './shell.ts'
import { shellOutput, shellStop } from './shell-jobs.ts'

const tools = { shell, shellOutput, shellStop }
let n = 0

/** A sleep that nothing else on this machine does: no two tests have the same. */
function longSleep(): string {
  return `sleep ${process.pid}${++n}.${Math.floor(Math.random() * 1e6)}`
}

/** The command lines of all processes that hold this text. */
function processesWith(text: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return line.includes(text) ? [line] : []
    } catch {
      return [] // it has just ended
    }
  })
}

const gone = (text: string) => expect.poll(() => processesWith(text), { timeout: 10_000 }).toEqual([])
const there = (text: string) => expect.poll(() => processesWith(text).length, { timeout: 10_000 }).toBeGreaterThan(0)

function house() {
  const provider = scripted()
  const agent = createAgent({ provider, execution: createProcessContext(), tools })
  let calls = 0
  const use = async (name: string, input: Record<string, unknown> = {}): Promise<string> => {
    provider.push([call(`c${++calls}`, name, input)], 'fin')
    await agent.run({ prompt: 'go' })
    return texts(agent.turns)
      .at(-2)!
      .replace(/^user: ←/, '')
  }
  return { agent, provider, use }
}

async function runOnce(input: Record<string, unknown>): Promise<string> {
  const { agent, use } = house()
  try {
    return await use('shell', input)
  } finally {
    await agent.destroy()
  }
}

test('a context that does not keep the time limit is given up on, and its command is told to end', async () => {
  let isTold = false
  const execution: ExecutionContext = {
    ...memoryExecution({ exec: () => ({}) }),
    exec: (_, __, { signal, onOutput } = {}) => {
      onOutput?.('partial', 'stdout')
      signal?.addEventListener('abort', () => {
        isTold = true
      })
      return new Promise(() => {})
    },
  }
  const provider = scripted([call('1', 'shell', { command: 'hang', timeout: 1000 })], 'fin')
  const agent = createAgent({ provider, execution, tools })
  await agent.run({ prompt: 'go' })
  expect(texts(agent.turns)[2]).toMatch(/^user: ←partial\n\(timed out after 1000ms, \d+ms\)/)
  expect(isTold).toBe(true)
})

describe.skipIf(process.platform !== 'linux')('real commands (Linux only)', () => {
  test.each(sampleOf(['yes', 'cat /dev/urandom', 'cat /dev/zero', "yes $'50%\\r' | tr -d '\\n'"], 1))(
    'FT-11 RS-01 %s without end costs little memory and ends at the time limit',
    async (command) => {
      globalThis.gc?.()
      const before = process.memoryUsage().rss
      let most = before
      const sampler = setInterval(() => {
        most = Math.max(most, process.memoryUsage().rss)
      }, 20)
      const { agent, use } = house()
      const progress: number[] = []
      agent.hooks.hook('tool:progress', ({ text }) => void progress.push(Buffer.byteLength(text)))
      const text = await use('shell', { command, timeout: 2000 })
      clearInterval(sampler)
      await agent.destroy()
      expect(text).toContain('(timed out after 2000ms')
      expect(Buffer.byteLength(text)).toBeLessThan(34_000)
      expect(most - before).toBeLessThan(64 * 1024 * 1024)
      expect(Math.max(...progress)).toBeLessThanOrEqual(4096)
      expect(progress.length).toBeLessThan(200)
    },
  )

  test('FT-08 a command that leaves something running comes back, says so, and leaves nothing', async () => {
    const sleep = longSleep()
    const text = await runOnce({ command: `${sleep} & echo done` })
    expect(text).toMatch(/^done\n\(exit 0, \d+ms\)\n\(still running when the command ended, now stopped: /)
    expect(text).toContain(sleep)
    expect(text).toContain('use background: true')
    await gone(sleep)
  })

  test('FT-09 RS-03 what left its session is ended too', async () => {
    const sleep = longSleep()
    const text = await runOnce({ command: `setsid nohup ${sleep} > /dev/null 2>&1 & sleep 0.2; echo done` })
    expect(text).toMatch(/^done\n/)
    await gone(sleep)
  })

  test('FT-10 a command that ignores SIGTERM is killed at its limit, and its output is kept', async () => {
    const sleep = longSleep()
    const text = await runOnce({ command: `trap "" TERM; echo partial; ${sleep}; ${sleep}`, timeout: 1000 })
    expect(text).toMatch(/^partial\n\(timed out after 1000ms, \d+ms\)/)
    await gone(sleep)
  })

  test('FT-22 an abort in the middle of a command ends the run and leaves no process', async () => {
    const { agent, provider } = house()
    const sleep = longSleep()
    provider.push([
      call('1', 'shell', { command: `trap "" TERM; ${sleep}; ${sleep}` }),
      call('2', 'shell', { command: 'echo never' }),
    ])
    const running = agent.run({ prompt: 'go' })
    await there(sleep)
    agent.abort()
    await expect(running).rejects.toThrow()
    await agent.waitForIdle()
    expect(agent.isRunning).toBe(false)
    expect(texts(agent.turns).at(-1)).toMatch(/^user: ←Aborted: .* ←Aborted: /)
    await gone(sleep)
    await agent.destroy()
  })

  const tens = rounds(2, 10)
  test(`FT-22 ${10 * tens} runs, half of them aborted, leave no process`, { timeout: 120_000 }, async () => {
    const sleep = longSleep()
    for (let round = 0; round < tens; round++) {
      await Promise.all(
        Array.from({ length: 10 }, async (_, i) => {
          const { agent, provider } = house()
          const isAborted = i % 2 === 0
          const command = isAborted ? `(${sleep} &) ; setsid ${sleep} & ${sleep}` : `${sleep} & echo done`
          provider.push([call('1', 'shell', { command })], 'fin')
          const running = agent.run({ prompt: 'go' })
          if (isAborted) {
            setTimeout(() => agent.abort(), 30 * i)
            await expect(running).rejects.toThrow()
          } else expect((await running).text).toBe('fin')
          await agent.destroy()
        }),
      )
    }
    await gone(sleep)
  })

  test('a background job lives across runs, is read and stopped', async () => {
    const { agent, use } = house()
    const sleep = longSleep()
    const command = `echo ready; while true; do echo tick; sleep 0.1; done; ${sleep}`
    expect(await use('shell', { command, background: true })).toMatch(/^Started job 1: echo ready; .*\nready\ntick\n/)
    expect(await use('shell_output', { job: 1, wait: 10_000 })).toMatch(/^tick\n[\s\S]*\(job 1: running for /)
    expect(processesWith(sleep).length).toBeGreaterThan(0)
    expect(await use('shell_stop', { job: 1 })).toMatch(/\(job 1: stopped after /)
    await gone(sleep)
    await agent.destroy()
  })

  test('RS-03 background jobs die with their agent', async () => {
    const { agent, use } = house()
    const sleep = longSleep()
    await use('shell', { command: `setsid ${sleep} & ${sleep}`, background: true })
    await use('shell', { command: sleep, background: true })
    expect(processesWith(sleep).length).toBeGreaterThan(2)
    await agent.destroy()
    await gone(sleep)
  })

  test('a job whose command cannot be found is told at once', async () => {
    expect(await runOnce({ command: 'no-such-program-at-all', background: true })).toMatch(/not found[\s\S]*\(exit 127/)
  })
})
