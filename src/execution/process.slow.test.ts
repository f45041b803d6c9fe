import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect } from 'vitest'
import { rounds, sampleOf, testInTurns } from '../../test/soak.ts'
import type { ExecOptions, ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { createProcessContext, type ProcessContextOptions } from './process.ts'

const test = testInTurns(2)

const folder = mkdtempSync(join(tmpdir(), 'libero-process-slow-'))
chmodSync(folder, 0o755) // for a program that runs as another user
afterAll(() => rm(folder, { recursive: true, force: true }))

const onLinux = process.platform === 'linux'
const somebodyElse = ['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups']
const source = new URL('./process.ts', import.meta.url)
const canBeSomebodyElse = spawnSync('env', [...somebodyElse, 'test', '-r', fileURLToPath(source)]).status === 0
if (!onLinux)
  console.warn(
    'Not Linux: escaped processes are not found, floods and limits are not measured, and none of it is tested',
  )
if (!canBeSomebodyElse)
  console.warn('Not root, or other users may not read this folder: a machine that cannot start a process is not tested')

test('FT-10 a command that ignores SIGTERM is killed two seconds later, and what it said is kept', async () => {
  const [context, handle] = await place()
  const result = await context.exec(handle, `trap '' TERM; echo begun; sleep 70; sleep 71`, { timeout: 300 })
  expect(result).toEqual({ stdout: 'begun\n', stderr: '', exitCode: null, signal: 'SIGKILL', timedOut: true })
})

test('FT-10 what is slow to end with its command is not called left behind', async () => {
  const [context, handle] = await place()
  const command = `(trap 'trap "" TERM; sleep 0.5; echo tidied; exit' TERM; while :; do sleep 0.01; done) & sleep 72`
  const result = await context.exec(handle, command, { timeout: 300 })
  expect(result).toMatchObject({ stdout: 'tidied\n', exitCode: null, signal: 'SIGTERM', timedOut: true })
  expect(result.leftRunning).toBeUndefined()
})

test('FT-10 an abort does not wait for the end of that time', async () => {
  const [context, handle] = await place()
  const abort = new AbortController()
  const command = `trap 'echo told' TERM; while :; do sleep 0.01; done`
  const onOutput = () => abort.abort()
  const result = await context.exec(handle, command, { timeout: 300, signal: abort.signal, onOutput })
  expect(result).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: true })
})

const fives = rounds(2, 20)
test.skipIf(!onLinux)(
  `RS-03 after ${5 * fives} commands that leave daemons behind in every way, none is there`,
  async () => {
    const ways = [
      'true',
      'sleep 600 & true',
      'setsid sleep 600 >/dev/null 2>&1 & true',
      'nohup sleep 600 >/dev/null 2>&1 & true',
      'setsid nohup sleep 9999 >/dev/null 2>&1 & sleep 0.01',
      '(setsid sh -c "(sleep 600 &) ; exit 0" >/dev/null 2>&1 </dev/null &)',
      '(trap "" TERM HUP INT; setsid sh -c "sleep 600; sleep 601" >/dev/null 2>&1 &)',
      'setsid sh -c "while :; do sh -c \\"sleep 0.01\\" & sleep 0.01; done" >/dev/null 2>&1 & sleep 0.02',
      'sh -c "(sh -c \\"(setsid sleep 600 >/dev/null 2>&1 &)\\" &)"',
      'set -m; sleep 600 >/dev/null 2>&1 & disown',
    ]
    const [context, handle] = await place()
    const mark = await markOf(context, handle)
    for (let n = 0; n < fives; n++) {
      const five = Array.from({ length: 5 }, (_, i) => context.exec(handle, ways[(n * 5 + i) % ways.length]!))
      const results = await Promise.all(five)
      expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0, 0])
    }
    expect(processesWith(mark)).toEqual([])
  },
)

test.skipIf(!onLinux)('RS-03 what hands over from process to process is caught between two of them', async () => {
  const [context, handle] = await place()
  const mark = await markOf(context, handle)
  const hop = 'hop() { if [ $1 -gt 0 ]; then (hop $(($1 - 1)) &); fi; }'
  for (let n = 0; n < rounds(4, 40); n++) {
    await context.exec(handle, `${hop}; (setsid bash -c "$(declare -f hop); hop 2000" >/dev/null 2>&1 </dev/null &)`)
    expect(processesWith(mark)).toEqual([])
  }
})

test.skipIf(!onLinux)('RS-03 destroy finds what no command accounts for any more', async () => {
  const [context, handle] = await place()
  const mark = await markOf(context, handle)
  // It takes the handle's mark along, but not that of its command: as after a crash of ours in between.
  const command = 'env -u LIBERO_COMMAND setsid sleep 603 >/dev/null 2>&1 & sleep 0.2'
  await context.exec(handle, command)
  expect(processesWith(mark).length).toBe(1)
  await context.destroy(handle)
  expect(processesWith(mark)).toEqual([])
})

describe('when the host exits', () => {
  const ends: Record<string, string> = {
    'by process.exit': 'process.exit(3)',
    'by an uncaught error': 'setTimeout(() => { throw new Error("broken") })',
  }
  test.skipIf(!onLinux).each(Object.entries(ends))('RS-03 %s, nothing is left behind', async (_, end) => {
    const mark = `left-by-${crypto.randomUUID()}`
    const command = `trap '' TERM HUP; (setsid sleep 604 >/dev/null 2>&1 &); sleep 605 & sleep 0.1; echo begun; sleep 606`
    const host = await asHost(`
      const context = createProcessContext({ env: { MARK: ${JSON.stringify(mark)} } })
      const onOutput = () => { console.log('ended by the test'); ${end} }
      void context.exec(await context.spawn(), ${JSON.stringify(command)}, { onOutput })
    `)
    expect(host.stdout).toBe('ended by the test\n')
    await gone(() => processesWith(mark))
  })
})

describe('floods', () => {
  const floods: Record<string, string> = { yes: 'yes', 'random bytes': 'cat /dev/urandom', both: 'yes & yes >&2' }
  const ways = { kept: 'undefined', heard: '(text) => { heard += text.length }' }
  const cases = Object.entries(floods).flatMap(([name, flood]) =>
    Object.entries(ways).map(([way, on]) => ({ name, way, flood, on })),
  )

  test.skipIf(!onLinux).each(sampleOf(cases, 1))(
    'FT-11 RS-01 $name, $way: memory is bounded and others get their turn',
    async ({ flood, on }) => {
      const { stdout } = await asHost(`
      const context = createProcessContext()
      const handle = await context.spawn()
      await context.exec(handle, 'seq 1 1000')
      globalThis.gc?.()
      const before = process.memoryUsage.rss()
      let [heard, ticks, most] = [0, 0, 0]
      const ticking = setInterval(() => { ticks++; most = Math.max(most, process.memoryUsage.rss()) }, 10)
      const onOutput = ${on}
      const result = await context.exec(handle, ${JSON.stringify(`${flood}; wait`)}, { timeout: 2000, ...(onOutput && { onOutput }) })
      clearInterval(ticking)
      await context.destroy(handle)
      const { stdout, stderr, ...rest } = result
      const grown = Math.round((most - before) / 2 ** 20)
      console.log(JSON.stringify({ ...rest, kept: stdout.length + stderr.length, heard, ticks, grown }))
    `)
      const seen = JSON.parse(stdout)
      expect(seen).toMatchObject({ exitCode: null, timedOut: true })
      expect(seen.kept + seen.heard).toBeGreaterThan(5 * 2 ** 20)
      expect(seen.kept).toBeLessThanOrEqual(20 * 2 ** 20)
      expect(seen.ticks).toBeGreaterThan(10)
      expect(seen.grown).toBeLessThan(64)
    },
  )
})

describe.skipIf(!onLinux)('RS-04 limits', () => {
  test('a memory hog dies, its host lives', async () => {
    const { result } = await limited({ memoryMb: 200 }, 'tail /dev/zero')
    expect(result).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('memory exhausted') })
  })

  test('a disk hog is stopped at the size of a file', async () => {
    const { result } = await limited({ fileSizeMb: 2 }, 'dd if=/dev/zero of=big bs=1M count=10; echo $?')
    expect(result.stdout).not.toBe('0\n')
    expect(statSync(join(folder, 'big')).size).toBe(2 * 2 ** 20)
  })

  test('all of them are set, for good, and a stricter limit stays', async () => {
    const { result } = await limited(
      { processes: 5000, memoryMb: 3000, fileSizeMb: 7 },
      'ulimit -u; ulimit -v; ulimit -f; ulimit -Hv',
    )
    expect(result.stdout).toBe('5000\n3072000\n7168\n3072000\n')
    const host = `createProcessContext({ limits: { fileSizeMb: 7 } })`
    const { stdout } = await asHost(
      `
      const context = ${host}
      console.log((await context.exec(await context.spawn(), 'ulimit -f')).stdout)
    `,
      'ulimit -f 1024; exec', // blocks of 512 bytes,
    )
    expect(stdout.trim()).toBe('512')
  })
})

describe('FT-17 when this machine has no room', () => {
  test.skipIf(!onLinux)('for more open files, it is tried again, then said; later all is well', async () => {
    const { stdout } = await asHost(
      `
      const { openSync, closeSync } = await import('node:fs')
      const context = createProcessContext()
      const handle = await context.spawn()
      await context.exec(handle, 'true')
      const open = []
      try { for (;;) open.push(openSync('/dev/null')) } catch {}
      const failed = await context.exec(handle, 'true').catch((error) => error)
      const soon = context.exec(handle, 'echo soon')
      setTimeout(() => open.forEach((fd) => closeSync(fd)), 100)
      console.log(JSON.stringify({ code: failed.code, message: failed.message, soon: (await soon).stdout, later: (await context.exec(handle, 'echo later')).stdout }))
      await context.destroy(handle)
    `,
      'ulimit -n 64; exec',
    )
    expect(JSON.parse(stdout)).toEqual({
      code: 'EMFILE',
      message: 'Cannot start a command: too many files are open; end other work, or raise the limit (ulimit -n)',
      soon: 'soon\n',
      later: 'later\n',
    })
  })

  test.skipIf(!onLinux || !canBeSomebodyElse)('for another process, it is tried again, then said', async () => {
    const { stdout } = await asHost(
      `
      const { execFileSync } = await import('node:child_process')
      const context = createProcessContext()
      const handle = await context.spawn()
      await context.exec(handle, 'true')
      execFileSync('prlimit', ['--nproc=1:', '--pid', String(process.pid)])
      const failed = await context.exec(handle, 'true').catch((error) => error)
      console.log(JSON.stringify({ code: failed.code, message: failed.message }))
    `,
      `exec ${somebodyElse.join(' ')}`,
    )
    expect(JSON.parse(stdout)).toEqual({
      code: 'EAGAIN',
      message: expect.stringContaining('no room for another process'),
    })
  })
})

async function place(options: ProcessContextOptions = {}): Promise<[ExecutionContext, ExecutionHandle]> {
  const context = createProcessContext({ cwd: folder, ...options })
  return [context, await context.spawn()]
}

async function limited(limits: NonNullable<ProcessContextOptions['limits']>, command: string, options?: ExecOptions) {
  const [context, handle] = await place({ limits })
  return { result: await context.exec(handle, command, options) }
}

async function markOf(context: ExecutionContext, handle: ExecutionHandle): Promise<string> {
  return (await context.exec(handle, 'echo $LIBERO_HANDLE')).stdout.trim()
}

/** Runs a script as a program of its own. */
async function asHost(script: string, preparation = 'exec'): Promise<{ stdout: string; stderr: string }> {
  const path = join(folder, `host-${crypto.randomUUID()}.ts`)
  await writeFile(path, `import { createProcessContext } from ${JSON.stringify(source.href)}\n${script}`)
  const run = `${preparation} "$0" --conditions=libero-source --disable-warning=ExperimentalWarning "$1"`
  const options = { cwd: folder, timeout: 15_000 }
  return promisify(execFile)('/bin/sh', ['-c', run, process.execPath, path], options).catch((failed) => failed)
}

function processesWith(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark)
    } catch {
      return false
    }
  })
}

/** A process that was killed takes a moment to be gone. */
async function gone(there: () => string[]): Promise<void> {
  for (let n = 0; n < 100 && there().length > 0; n++) await new Promise((resolve) => setTimeout(resolve, 20))
  const left = there()
  for (const pid of left) process.kill(Number(pid), 'SIGKILL')
  expect(left).toEqual([])
}
