import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CliError } from '../cli-error.ts'
import { command } from '../commands/rpc.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { ownStdout } from './own-stdout.ts'

interface FakeIo extends Io {
  readonly written: { stdout: string; stderr: string }
}

/** A machine without a key, a login, or a server that answers. */
function fakeIo(stdin = ''): FakeIo {
  const folder = mkdtempSync(join(tmpdir(), 'libero-rpc-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const written = { stdout: '', stderr: '' }
  const stream = (name: 'stdout' | 'stderr'): Writable =>
    new Writable({
      write(chunk, _, done) {
        written[name] += chunk
        done()
      },
    })
  const [stdout, stderr] = [stream('stdout'), stream('stderr')]
  return {
    written,
    stdin: Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
    stdout,
    stderr,
    env: {},
    cwd: folder,
    home: join(folder, 'home'),
    userHome: folder,
    fetch: async () => {
      throw new TypeError('fetch failed')
    },
    onSignal: () => () => {},
    onCrash: () => () => {},
    quit: () => {},
    out: (line) => void stdout.write(`${line}\n`),
    err: (line) => void stderr.write(`${line}\n`),
  }
}

describe('libero rpc', () => {
  test('without credentials it ends before the first frame, and says what to do', async () => {
    const io = fakeIo('{"type":"ping"}\n')
    const running = command.run!({ values: {}, words: [] }, io)
    await expect(running).rejects.toThrow(CliError)
    await expect(running).rejects.toThrow(/^no credentials were found: set a key .*libero login.*--provider offline$/)
    expect(io.written.stdout).toBe('')
  })

  test('C002 with the model that needs none it serves', async () => {
    const io = fakeIo('{"id":"1","type":"prompt","message":"what can you do?"}\n')
    const code = await command.run!({ values: { provider: 'offline' }, words: [] }, io)
    expect(code).toBe(exitCodes.done)
    const frames = io.written.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(frames[0]).toEqual({ type: 'response', command: 'prompt', id: '1', success: true, data: { started: true } })
    expect(frames.at(-1)).toEqual({ type: 'done' })
    expect(frames.some(({ type }) => type === 'text_delta')).toBe(true)
  })

  test('a container without an image is refused rather than done without', async () => {
    const io = fakeIo()
    const { mkdirSync, writeFileSync } = await import('node:fs')
    mkdirSync(io.home)
    writeFileSync(join(io.home, 'config.json'), '{"context":"docker"}')
    await expect(command.run!({ values: { provider: 'offline' }, words: [] }, io)).rejects.toThrow(/without an image/)
  })
})

describe('stdout that is taken', () => {
  test('FC-15 carries frames, and what others write goes to stderr', async () => {
    const { stdout, stderr, written } = fakeIo()
    const { frames, giveBack } = ownStdout({ stdout, stderr })
    stdout.write('noise\n')
    stdout.end('more noise\n')
    await new Promise((done) => frames.write('{"type":"done"}\n', done))
    expect(written).toEqual({ stdout: '{"type":"done"}\n', stderr: 'noise\n' })
    giveBack()
    stdout.write('again\n')
    expect(written.stdout).toBe('{"type":"done"}\nagain\n')
  })

  test('FC-06 says when its reader has gone', async () => {
    const stdout = new PassThrough()
    const { frames } = ownStdout({ stdout, stderr: new PassThrough() })
    const gone = new Promise((done) => frames.once('error', done))
    stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await gone).toMatchObject({ code: 'EPIPE' })
  })
})
