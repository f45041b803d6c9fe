import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, describe, expect } from 'vitest'
import { testInTurns } from '../../../test/soak.ts'
import { installCommand } from '../../../test/system-programs.ts'
import { endTracked, trackedCommand, trailerOf } from './tracked-command.ts'

const test = testInTurns(2)

const scratch = mkdtempSync(join(tmpdir(), 'libero-tracked-'))
/** A duration that no other process sleeps. */
const nap = (n: number) => `sleep 30.${process.pid}${n}`
const started: ChildProcess[] = []
afterAll(() => {
  for (const { pid = 0 } of started) spawnSync('kill', ['-9', '--', `-${pid}`])
  rmSync(scratch, { recursive: true, force: true })
})

const busybox = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'busybox'))
  .find(existsSync)
const worlds: Record<string, string | undefined> = {
  'the tools of this machine': process.env.PATH,
  busybox: busybox && busyboxPath(busybox),
  'a grep that does not see behind NUL bytes': `${blindGrep()}${delimiter}${process.env.PATH}`,
}

for (const [name, path] of Object.entries(worlds)) {
  const absent = path === undefined && `it is not here: ${installCommand('busybox-static')}`
  const missing = process.platform === 'linux' ? absent : 'there is no /proc'
  if (missing) console.warn(`NOT TESTED, a tracked command with ${name}: ${missing}`)
  describe.skipIf(missing)(`a tracked command, with ${name}${missing ? ` (skipped: ${missing})` : ''}`, () =>
    suite(path!),
  )
}

function suite(path: string): void {
  test('is the command itself: its output, its exit code, its folder, its input', async () => {
    const started = start(path, 'pwd; cat; echo err >&2; exit 3')
    started.child.stdin!.end('input')
    expect(await started.done).toEqual({ code: 3, stdout: `${scratch}\ninput`, stderr: 'err\n', leftRunning: [] })
  })

  test('ends and names what it leaves running, in its session or out of it', async () => {
    const command = `${nap(1)} & setsid ${nap(2)} & env -i PATH="$PATH" ${nap(3)} & sleep 0.5; echo done` // until each has become a sleep
    const { leftRunning, ...done } = await start(path, command).done
    expect(done).toEqual({ code: 0, stdout: 'done\n', stderr: '' })
    expect(leftRunning.sort()).toEqual([nap(1), nap(2), nap(3)])
    expect(running(nap(1), nap(2), nap(3))).toEqual([])
  })

  test('is ended from outside with all it started, whatever they think of it', async () => {
    const { mark, child, done } = start(
      path,
      `trap '' TERM; setsid ${nap(4)} & echo begun; while :; do ${nap(5)}; done`,
    )
    const other = start(path, 'sleep 2; echo unharmed')
    await new Promise((resolve) => child.stdout!.once('data', resolve))
    const { argv, env } = endTracked(mark)
    await exitOf(spawn('sh', argv.slice(1), { env: { ...env, PATH: path }, detached: true, stdio: 'ignore' }))
    expect((await done).stdout).toBe('begun\n')
    expect(running(nap(4), nap(5))).toEqual([])
    expect((await other.done).stdout).toBe('unharmed\n')
  })

  test('hides its own script from the command', async () => {
    const { stdout } = await start(path, 'env; ps -A -o args=').done
    expect(stdout).toContain('LIBERO_EXEC=libero-')
    expect(stdout).not.toContain('LIBERO_RUN=')
    expect(stdout).not.toContain('search()')
  })

  test('spares a session that is not its own', async () => {
    const mark = `libero-${crypto.randomUUID()}`
    const { argv, env } = trackedCommand(mark, `${nap(6)} & true`, scratch)
    const words = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    const script = `${nap(7)} & ${words.join(' ')} 2>/dev/null; kill -0 $! && echo spared; kill $!`
    const child = spawn('sh', ['-c', script], {
      env: { ...env, PATH: path },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let said = ''
    child.stdout!.on('data', (bytes) => (said += bytes))
    await exitOf(child)
    expect(said).toBe('spared\n')
    expect(running(nap(6), nap(7))).toEqual([])
  })

  test('does not run where there is no such folder', async () => {
    const { child, trailer } = start(path, 'touch ran', join(scratch, 'none'))
    expect(await exitOf(child)).toBe(126)
    expect(trailer.hadNoFolder()).toBe(true)
    expect(existsSync(join(scratch, 'ran'))).toBe(false)
  })
}

/** As the engine starts it: at the head of a session. */
function start(path: string, command: string, cwd = scratch) {
  const mark = `libero-${crypto.randomUUID()}`
  const { argv, env } = trackedCommand(mark, command, cwd)
  const child = spawn('sh', argv.slice(1), { env: { ...env, PATH: path }, detached: true, stdio: 'pipe' })
  started.push(child)
  const trailer = trailerOf(mark)
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes) => (stdout += bytes))
  child.stderr.on('data', (bytes) => (stderr += trailer.take(bytes)))
  const done = exitOf(child).then((code) => ({
    code,
    stdout,
    stderr: stderr + trailer.rest(),
    leftRunning: trailer.leftRunning(),
  }))
  return { mark, child, trailer, done }
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve))
}

function running(...commands: string[]): string[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })
  return stdout.split('\n').filter((line) => commands.includes(line.trim()))
}

function busyboxPath(program: string): string {
  const path = mkdtempSync(join(scratch, 'busybox-'))
  copyFileSync(program, join(path, 'busybox'))
  spawnSync(join(path, 'busybox'), ['--install', '-s', path])
  return path
}

function blindGrep(): string {
  const path = mkdtempSync(join(scratch, 'blind-'))
  writeFileSync(join(path, 'grep'), '#!/bin/sh\nexit 1\n')
  chmodSync(join(path, 'grep'), 0o755)
  return path
}
