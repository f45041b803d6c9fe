import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createDemoProject, nextCommands } from '../demo/run-demo.ts'
import type { Io, Output, StopSignal } from '../io.ts'
import { command } from './demo.ts'

let scratch: string

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'libero-demo-test-'))
  vi.stubEnv('TMPDIR', scratch)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(scratch, { recursive: true, force: true })
})

describe('libero demo', () => {
  test('finds and fixes a failing test with real tools, asks once, and leaves nothing behind', async () => {
    const { io, written } = fakeIo()
    const exitCode = await command.run!({ values: {}, words: [] }, io)
    const { stdout, stderr } = written()
    expect(exitCode).toBe(0)
    expect(stdout).toContain('not a language model')
    expect(stdout).toContain('The tests pass now. I changed `+` to `-` in line 8 of `src/cart.js`')
    expect(stderr.match(/\? Allow edit\?/g)).toHaveLength(1)
    expect(stderr).toContain('allowed once: edit src/cart.js (answered by the demo')
    expect(stderr).toMatch(/✗ shell node --test +exit 1/)
    expect(stderr).toMatch(/✓ shell node --test/)
    const end = stderr.slice(stderr.indexOf('What changed'))
    expect(end).toContain('-  return whole + rebate\n+  return whole - rebate')
    expect(stderr).toMatch(/\d turns · .* · \$0 · /)
    expect(end).toMatch(/The session had \d\d entries in SQLite/)
    for (const { line } of nextCommands(io)) expect(end).toContain(line)
    expect(`${stdout}${stderr}`).not.toContain('\u001b')
    expect(readdirSync(scratch)).toEqual([])
  })

  test('works with an empty PATH: without npm, git and another node', async () => {
    vi.stubEnv('PATH', '/nowhere')
    const { io, written } = fakeIo({ PATH: '/nowhere' })
    expect(await command.run!({ values: {}, words: [] }, io)).toBe(0)
    expect(written().stdout).toContain('The tests pass now.')
  })

  test('Ctrl-C stops it and removes its project', async () => {
    const { io, written, send } = fakeIo()
    io.stderr.on('data', () => send('SIGINT'))
    expect(await command.run!({ values: {}, words: [] }, io)).toBe(130)
    expect(written().stderr).not.toContain('Try next')
    expect(readdirSync(scratch)).toEqual([])
  })

  test('a folder that cannot be written ends with one message and the next step', () => {
    const nowhere = join(scratch, 'nowhere')
    expect(() => createDemoProject(nowhere)).toThrow(
      /^The demo cannot make its project in .*nowhere: .*; set TMPDIR to a folder that can be written$/,
    )
    expect(existsSync(nowhere)).toBe(false)
  })
})

/** Streams without a terminal, and signals that a test sends. */
function fakeIo(env: Io['env'] = process.env) {
  const texts = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr'): Output => {
    const pipe = new PassThrough()
    pipe.on('data', (chunk) => (texts[name] += String(chunk)))
    return pipe
  }
  const listeners = new Set<(signal: StopSignal) => void>()
  const [stdout, stderr] = [stream('stdout'), stream('stderr')]
  let isSent = false
  const io: Io = {
    stdin: new PassThrough().end() as unknown as Io['stdin'],
    stdout,
    stderr,
    env: { ...env, NO_COLOR: '1' },
    cwd: scratch,
    home: join(scratch, 'home'),
    userHome: scratch,
    fetch: () => Promise.reject(new Error('the demo needs no network')),
    onSignal(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    onCrash: () => () => {},
    quit: (code) => expect.unreachable(`quit with ${code}`),
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
  }
  /** Once, as soon as a tool is at work. */
  const send = (signal: StopSignal): void => {
    if (isSent || !texts.stderr.includes('shell node --test')) return
    isSent = true
    for (const listener of listeners) listener(signal)
  }
  return { io, send, written: () => texts }
}
