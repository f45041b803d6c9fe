import { describe, expect, test } from 'vitest'
import type { ExecOptions, ExecResult, ExecutionContext } from '../../core/execution.ts'
import { createAgent } from '../../create-agent.ts'
import { call, memoryExecution, scripted, texts } from '../../testing/index.ts'
import { createShellTool, shell } from '../shell.ts'
import { shellOutput, shellStop } from '../shell-jobs.ts'
import { jobsOf } from './background-jobs.ts'

interface Running {
  readonly command: string
  readonly options: ExecOptions
  end(result: Partial<ExecResult>): void
  fail(error: Error): void
}

/** An execution context in which commands run until the test ends them or they are stopped. */
function controlled(): ExecutionContext & { readonly running: Running[] } {
  const running: Running[] = []
  return {
    ...memoryExecution({ exec: () => ({}) }),
    running,
    exec: (_, command, options = {}) =>
      new Promise((resolve, reject) => {
        const end = (result: Partial<ExecResult>): void => resolve({ stdout: '', stderr: '', exitCode: 0, ...result })
        options.signal?.addEventListener('abort', () => end({ exitCode: null, signal: 'SIGTERM' }))
        running.push({ command, options, end, fail: reject })
      }),
  }
}

/** Runs one call after another through the same agent, each in a run of its own. */
function house(execution: ExecutionContext) {
  const provider = scripted()
  const agent = createAgent({ provider, execution, tools: { shell, shellOutput, shellStop } })
  let n = 0
  const use = async (name: string, input: Record<string, unknown> = {}): Promise<string> => {
    provider.push([call(`c${++n}`, name, input)], 'fin')
    await agent.run({ prompt: 'go' })
    return texts(agent.turns)
      .at(-2)!
      .replace(/^user: ←/, '')
  }
  return { agent, use }
}

const plain = (text: string): string => text.replace(/[\d.]+s\b/g, 'Ns').replace(/\d+ms/g, 'Nms')

describe('background jobs', () => {
  test('a job is started without a limit, read in pieces across runs, and told about when it has ended', async () => {
    const execution = controlled()
    const { use } = house(execution)
    expect(await use('shell', { command: 'npm run dev', background: true })).toBe('Started job 1: npm run dev')
    const [job] = execution.running
    expect(job!.options.timeout).toBe(0)

    job!.options.onOutput?.('ready on 3000\n', 'stdout')
    expect(plain(await use('shell_output', { job: 1 }))).toBe('ready on 3000\n(job 1: running for Ns)')
    expect(plain(await use('shell_output', { job: 1 }))).toBe('(no new output)\n(job 1: running for Ns)')

    job!.options.onOutput?.('bye', 'stderr')
    job!.end({ exitCode: 3 })
    expect(plain(await use('shell_output', { job: 1 }))).toBe('bye\n(job 1: exit 3 after Ns)')
    expect(plain(await use('shell_output', { job: 1 }))).toBe('(no new output)\n(job 1: exit 3 after Ns)')
  })

  test('what it says in its first moment comes with the start', async () => {
    const execution = controlled()
    const { use } = house(execution)
    const starting = use('shell', { command: 'serve', background: true })
    await expect.poll(() => execution.running.length).toBe(1)
    execution.running[0]!.options.onOutput?.('listening\n', 'stdout')
    expect(await starting).toBe('Started job 1: serve\nlistening\n')
  })

  test('a command that ends at once is told like any other, and is no job', async () => {
    const { use } = house(memoryExecution({ exec: () => ({ stderr: 'serve: not found', exitCode: 127 }) }))
    expect(plain(await use('shell', { command: 'serve', background: true }))).toBe('serve: not found\n(exit 127, Nms)')
    expect(await use('shell_output')).toBe('no job was started here')
  })

  test('one that put its work into the background itself is told not to', async () => {
    const { use } = house(memoryExecution({ exec: () => ({ leftRunning: ['node server.js'] }) }))
    const text = await use('shell', { command: 'node server.js &', background: true })
    expect(text).toContain('now stopped: node server.js; a job lasts as long as its command, so do not end that with &')
  })

  test('what the context throws at the start is the answer; later it is the status', async () => {
    const execution = controlled()
    const { use } = house(execution)
    const starting = use('shell', { command: 'a', background: true })
    await expect.poll(() => execution.running.length).toBe(1)
    execution.running[0]!.fail(new Error('no such folder'))
    expect(await starting).toBe('Tool error: no such folder')
    await use('shell', { command: 'b', background: true })
    execution.running[1]!.fail(new Error('the container is gone'))
    expect(plain(await use('shell_output', { job: 2 }))).toContain('(job 2: failed after Ns: the container is gone)')
  })

  test('waiting ends with output, with the end, or with its time', async () => {
    const execution = controlled()
    const { use } = house(execution)
    await use('shell', { command: 'build', background: true })
    const [job] = execution.running
    setTimeout(() => job!.options.onOutput?.('compiled\n', 'stdout'), 20)
    expect(await use('shell_output', { job: 1, wait: 60_000 })).toMatch(/^compiled\n/)
    expect(await use('shell_output', { job: 1, wait: 1 })).toMatch(/^\(no new output\)\n\(job 1: running/)
    setTimeout(() => job!.options.onOutput?.('linked\n', 'stdout'), 20)
    setTimeout(() => job!.end({}), 60)
    expect(plain(await use('shell_output', { job: 1, wait: 60_000, until: 'end' }))).toBe(
      'linked\n(job 1: exit 0 after Ns)',
    )
  })

  test('an abort ends the waiting, not the job, and nothing unread is lost', async () => {
    const execution = controlled()
    const { use, agent } = house(execution)
    await use('shell', { command: 'serve', background: true })
    const waiting = use('shell_output', { job: 1, wait: 60_000, until: 'end' })
    execution.running[0]!.options.onOutput?.('hello\n', 'stdout')
    setTimeout(() => agent.abort(), 20)
    await expect(waiting).rejects.toThrow()
    await agent.run({ prompt: 'say what you had to say' })
    expect(execution.running[0]!.options.signal?.aborted).toBe(false)
    expect(await use('shell_output', { job: 1 })).toMatch(/^hello\n\(job 1: running/)
  })

  test('an abort while a job starts leaves no job', async () => {
    const execution = controlled()
    const { use, agent } = house(execution)
    const starting = use('shell', { command: 'serve', background: true })
    await expect.poll(() => execution.running.length).toBe(1)
    agent.abort()
    await expect(starting).rejects.toThrow()
    await agent.run({ prompt: 'say what you had to say' })
    expect(execution.running[0]!.options.signal?.aborted).toBe(true)
    expect(await use('shell_output')).toBe('no job was started here')
  })

  test('stopping gives the rest; stopping what has ended is harmless', async () => {
    const execution = controlled()
    const { use } = house(execution)
    await use('shell', { command: 'serve', background: true })
    execution.running[0]!.options.onOutput?.('last words\n', 'stdout')
    expect(plain(await use('shell_stop', { job: 1 }))).toBe('last words\n(job 1: stopped after Ns)')
    expect(plain(await use('shell_stop', { job: 1 }))).toBe('(no new output)\n(job 1: stopped after Ns)')
  })

  test('screens get the facts of every job', async () => {
    const execution = controlled()
    const { agent, use } = house(execution)
    const details: unknown[] = []
    agent.hooks.hook('tool:after', (done) => void details.push(done.details))
    await use('shell', { command: 'serve', background: true })
    execution.running[0]!.end({ exitCode: 2 })
    await use('shell_output')
    const facts = { job: 1, command: 'serve', elapsedMs: expect.any(Number), status: expect.any(String) }
    expect(details).toEqual([{ ...facts, isRunning: true }, { jobs: [{ ...facts, isRunning: false, exitCode: 2 }] }])
  })

  test('all jobs can be listed, and a wrong number lists them too', async () => {
    const execution = controlled()
    const { use } = house(execution)
    expect(await use('shell_output', { job: 7 })).toBe('Tool error: there is no job 7; no job was started here')
    await use('shell', { command: 'npm run dev', background: true })
    await use('shell', { command: `tail -f\n${'x'.repeat(200)}`, background: true })
    execution.running[0]!.end({ exitCode: 1 })
    const list = `the jobs are:\njob 1 (exit 1 after Ns): npm run dev\njob 2 (running for Ns): tail -f\\n${'x'.repeat(90)}…`
    expect(plain(await use('shell_output'))).toBe(list)
    expect(plain(await use('shell_stop', { job: 7 }))).toBe(`Tool error: there is no job 7; ${list}`)
  })

  test('FT-11 unread output is bounded, and what was dropped is told', async () => {
    const execution = controlled()
    const { use } = house(execution)
    await use('shell', { command: 'yes', background: true })
    for (let i = 0; i < 100; i++) execution.running[0]!.options.onOutput?.('y\n'.repeat(5000), 'stdout')
    const text = await use('shell_output', { job: 1 })
    expect(text.startsWith(`…(${1_000_000 - 32_768} bytes truncated from head)…\ny\n`)).toBe(true)
    expect(text.length).toBeLessThan(33_000)
  })

  test('twenty may run at a time, and of those that have ended the latest are known', async () => {
    const execution = controlled()
    const handle = await execution.spawn()
    const jobs = jobsOf(handle)
    const start = () => jobs.start(execution, handle, { command: 'serve', cwd: undefined, maxBytes: 100 })
    for (let i = 0; i < 20; i++) start()
    expect(start).toThrow(/^20 jobs are running already; stop one with shell_stop first\njob 1 \(running/)
    for (let i = 0; i < 60; i++) {
      execution.running.at(-1)!.end({})
      await jobs.all.at(-1)!.until('end', 15_000)
      start()
    }
    expect(jobs.all.filter((job) => job.ended)).toHaveLength(20)
    expect(() => jobs.find(25)).toThrow('there is no job 25')
    expect(jobs.find(80).status).toContain('running')
  })

  test('each place has its own jobs', async () => {
    const execution = controlled()
    const one = house(execution)
    const other = house(execution)
    await one.use('shell', { command: 'serve', background: true })
    expect(await other.use('shell_output')).toBe('no job was started here')
    expect(await one.use('shell_output')).toContain('job 1')
  })

  test('where there are none, asking for one is refused', async () => {
    const provider = scripted([call('1', 'shell', { command: 'serve', background: true })], 'fin')
    const execution = controlled()
    const agent = createAgent({ provider, execution, tools: { shell: createShellTool({ background: false }) } })
    await agent.run({ prompt: 'go' })
    expect(texts(agent.turns)[2]).toBe(
      'user: ←Tool error: there are no background jobs here; run it without background: true',
    )
    expect(execution.running).toEqual([])
  })

  test('a job that does not end when it is stopped is told as that', async () => {
    const execution = memoryExecution({ exec: () => new Promise(() => {}) })
    const handle = await execution.spawn()
    const job = jobsOf(handle).start(execution, handle, { command: 'hang', cwd: undefined, maxBytes: 100 })
    void job.stop()
    expect(job.status).toMatch(/^being stopped, still running for /)
  })

  test('A127 what they declare', () => {
    expect(shellOutput).toMatchObject({ isConcurrencySafe: true, replay: 'pure', effects: [], timeoutMs: 0 })
    expect(shellStop).toMatchObject({ isConcurrencySafe: false, effects: ['exec'] })
    for (const one of [shellOutput, shellStop]) expect(one.deriveApprovalKey?.({ job: 1 })).toBe('jobs')
  })
})
