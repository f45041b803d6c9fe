import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../core/clock.ts'
import { createAgent, createProcessContext } from '../../index.ts'
import { call, scripted } from '../../testing/index.ts'
import { zxScriptPlugin } from './zx-script.ts'

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'zx-test-'))
  await mkdir(join(root, 'tmp'))
  await mkdir(join(root, 'agent'))
  await mkdir(join(root, 'wiki'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

interface Use {
  readonly workspaceName?: string
  readonly fileName?: string
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Runs a script with the real zx; its temporary files go where we can count them. */
async function run(script: string, { timeoutMs, signal, ...input }: Use = {}) {
  const execution = createProcessContext({ cwd: join(root, 'agent'), env: { TMPDIR: join(root, 'tmp') } })
  const knowledge = {
    workspaces: async () => [{ name: 'notes', folder: join(root, 'wiki') }],
    open: () => Promise.reject(new Error('not needed')),
  }
  const [tool] = zxScriptPlugin.tools!({
    config: {},
    entry: { id: '1', toolId: 'zx-script', ...(timeoutMs !== undefined && { timeoutMs }) },
    services: { agentId: 'a', clock: systemClock, knowledge },
  })
  const provider = scripted([call('1', 'zx-script', { script, ...input })], 'fin')
  const agent = createAgent({ provider, execution, tools: { tool: tool! } })
  let details: unknown
  agent.hooks.hook('tool:after', (done) => void (details = done.details))
  try {
    await agent.run({ prompt: 'go', ...(signal && { signal }) })
  } finally {
    await agent.destroy()
  }
  const [result] = provider.requests[1]!.messages.at(-1)!.content
  if (result?.type !== 'tool_result') throw new Error('no result')
  return { output: String(result.output), isError: result.isError ?? false, details }
}

const leftovers = async (): Promise<string[][]> =>
  Promise.all(['tmp', 'wiki', 'agent'].map((folder) => readdir(join(root, folder))))

/** Waits for a process to be gone, not for a time. */
const untilGone = (pid: number): Promise<void> =>
  expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false)

describe.skipIf(process.platform === 'win32')('a real script', () => {
  test('D034 runs with zx in the folder of the wiki, its output is collected, and it leaves no file', async () => {
    const script = `import { $ as same } from 'zx'
      import { readFile } from 'node:fs/promises'
      const { stdout } = await $\`pwd && echo "a b"\`
      console.log(stdout, same === $, (await fs.readdir('.')).length)
      console.error('to stderr')
      process.exitCode = 4`
    const { output, isError } = await run(script, { workspaceName: 'notes', fileName: '../../evil.mjs' })
    expect(output).toMatch(/\/wiki\na b\n true 0\n/)
    expect(output).toContain('to stderr\n')
    expect(output).toMatch(/\(exit 4, \d+ms\)$/)
    expect(isError).toBe(true)
    expect(await leftovers()).toEqual([[], [], []])
    expect(existsSync(join(root, '..', 'evil.mjs'))).toBe(false)
  })

  test('that fails reports where and why; one that works is no error', async () => {
    const failed = await run('await $`exit 3`')
    expect(failed).toMatchObject({ isError: true, output: expect.stringContaining('exit code: 3') })
    expect(await run('const a = ;')).toMatchObject({ isError: true, output: expect.stringContaining('SyntaxError') })
    expect(await run('console.log(process.cwd())')).toMatchObject({
      isError: false,
      output: expect.stringMatching(/\/agent\n\(exit 0,/),
    })
    expect(await leftovers()).toEqual([[], [], []])
  })

  test('does not see the secrets of this process, nor reads anything on its stdin', async () => {
    process.env.SOME_API_KEY = 'sk-very-secret-0123456789'
    process.env.ZX_PREFIX = 'echo prefixed;'
    try {
      const { output } = await run(`console.log(JSON.stringify(process.env))
        console.log('stdin', (await stdin()).length)
        console.log((await $\`echo plain\`).stdout)`)
      expect(output).toContain('stdin 0')
      expect(output).toContain('PATH')
      expect(output).not.toMatch(/very-secret|SOME_API_KEY|prefixed/)
    } finally {
      delete process.env.SOME_API_KEY
      delete process.env.ZX_PREFIX
    }
  })

  test('that hangs and ignores signals is ended at its limit with all processes it started', async () => {
    await writeFile(join(root, 'child.mjs'), `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`)
    const script = `import { spawn } from 'node:child_process'
      process.on('SIGTERM', () => {})
      const child = spawn(process.execPath, [${JSON.stringify(join(root, 'child.mjs'))}], { detached: true })
      console.log('pids', process.pid, child.pid)
      setInterval(() => {}, 1000)`
    const { output, isError } = await run(script, { timeoutMs: 2500 })
    expect(output).toContain('(timed out after 2500ms')
    expect(isError).toBe(true)
    const [, own, child] = /pids (\d+) (\d+)/.exec(output) ?? []
    await untilGone(Number(own))
    await untilGone(Number(child))
    expect(await leftovers()).toEqual([[], [], []])
  }, 30_000)

  test('that floods without end is ended at its limit, and its end is shown', async () => {
    const script = `const line = 'y'.repeat(9999) + '\\n'
      for (;;) await new Promise((resolve) => process.stdout.write(line, resolve))`
    const { output } = await run(script, { timeoutMs: 2000 })
    expect(output).toMatch(/^…\(\d+ bytes truncated from head\)…/)
    expect(output).toContain('(timed out after 2000ms')
    expect(output.length).toBeLessThan(33_500)
  }, 30_000)
})
