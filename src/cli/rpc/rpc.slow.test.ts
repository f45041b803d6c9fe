import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { fakeIo } from '../../../test/cli/fake-io.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import { command } from '../commands/rpc.ts'
import { reserveStdout } from './reserve-stdout.ts'

describe('libero rpc', () => {
  test('without credentials it ends before the first frame, with the next step', async () => {
    const io = fakeIo({ stdin: '{"type":"ping"}\n' })
    const running = command.run!({ values: {}, words: [] }, io)
    await expect(running).rejects.toThrow(CliError)
    await expect(running).rejects.toThrow(/^no model is set up: .*libero login, or set a key .*--provider offline\)$/)
    expect(io.said.out).toBe('')
  })

  test('C002 with a model that needs no credentials it serves', async () => {
    const io = fakeIo({ stdin: '{"id":"1","type":"prompt","message":"what can you do?"}\n' })
    const code = await command.run!({ values: { provider: 'offline' }, words: [] }, io)
    expect(code).toBe(exitCodes.done)
    const frames = io.said.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(frames[0]).toEqual({ type: 'response', command: 'prompt', id: '1', success: true, data: { started: true } })
    expect(frames.at(-1)).toEqual({ type: 'done' })
    expect(frames.some(({ type }) => type === 'text_delta')).toBe(true)
  })

  test('a container without an image is refused', async () => {
    const io = fakeIo()
    mkdirSync(io.home)
    writeFileSync(join(io.home, 'config.json'), '{"context":"docker"}')
    await expect(command.run!({ values: { provider: 'offline' }, words: [] }, io)).rejects.toThrow(/needs an image/)
  })
})

describe('reserved stdout', () => {
  test('FC-15 carries only frames, and other output goes to stderr', async () => {
    const { stdout, stderr, said } = fakeIo()
    const { frames, restore } = reserveStdout({ stdout, stderr })
    stdout.write('noise\n')
    stdout.end('more noise\n')
    await new Promise((done) => frames.write('{"type":"done"}\n', done))
    expect(said).toEqual({ out: '{"type":"done"}\n', err: 'noise\n' })
    restore()
    stdout.write('again\n')
    expect(said.out).toBe('{"type":"done"}\nagain\n')
  })

  test('FC-06 reports that its reader has closed it', async () => {
    const stdout = new PassThrough()
    const { frames } = reserveStdout({ stdout, stderr: new PassThrough() })
    const gone = new Promise((done) => frames.once('error', done))
    stdout.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect(await gone).toMatchObject({ code: 'EPIPE' })
  })
})
