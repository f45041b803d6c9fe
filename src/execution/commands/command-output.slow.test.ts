import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { commandOutput } from './command-output.ts'

const mib = 1024 * 1024

test('FT-12 output in single bytes comes in whole characters, with NUL and invalid bytes in it', async () => {
  const text = '\ufeffä 漢 👩‍🚀 \0 \x1b[2J end'
  const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0xe6, 0xbc])])
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  const heard = { stdout: [] as string[], stderr: [] as string[] }
  const output = commandOutput(streams, (piece, from) => heard[from].push(piece))
  for (const byte of bytes) {
    streams.stdout.write(Buffer.from([byte]))
    streams.stderr.write(Buffer.from([byte]))
    await sleep(0)
  }
  expect(output.end()).toEqual({ stdout: '', stderr: '' })
  expect(heard.stdout.join('')).toBe(`${text}\ufffd\ufffd\ufffd`)
  expect(heard.stderr).toEqual(heard.stdout)
  expect(heard.stdout.slice(0, 14)).toEqual([...'\ufeffä 漢 👩', '\u200d', ...'🚀 \0 \x1b[2'].slice(0, 14))
})

test('without a listener, what fits is kept as it is', async () => {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  const output = commandOutput(streams, undefined)
  for (const piece of ['one ', 'ä', ' two', '']) streams.stdout.write(piece)
  streams.stderr.write(Buffer.from([0, 0xff, 0x41]))
  await sleep(1)
  expect(output.end()).toEqual({ stdout: 'one ä two', stderr: '\0\ufffdA' })
})

test.each([
  { size: 1025, cut: 'before the end of ä', extra: 8 },
  { size: 65_537, cut: 'before the end of 漢', extra: 11 },
  { size: 11 * mib + 1, cut: 'after the first byte of 👩', extra: 13 },
])(
  'FT-11 of long output the end is kept, from a whole character on ($size bytes at a time, cut $cut)',
  async (given) => {
    const total = 12 * mib + given.extra
    const all = Buffer.from('0123456ä漢👩'.repeat(Math.ceil(total / 16))).subarray(0, total)
    const stdout = new PassThrough({ highWaterMark: 64 * mib })
    const output = commandOutput({ stdout, stderr: new PassThrough() }, undefined)
    for (let at = 0; at < all.length; at += given.size) stdout.write(all.subarray(at, at + given.size))
    stdout.end()
    await new Promise((resolve) => stdout.once('end', resolve))
    const text = output.end().stdout
    expect(text[0]).not.toBe('\ufffd')
    const end = all
      .subarray(-10 * mib)
      .toString()
      .replace(/^\ufffd+/, '')
    expect(text === end).toBe(true)
  },
)

test('RS-01 a flood is paused and goes on later', async () => {
  const stdout = new PassThrough()
  const output = commandOutput({ stdout, stderr: new PassThrough() }, undefined)
  for (let n = 0; n < 6; n++) stdout.write(Buffer.alloc(mib, 'x'))
  await sleep(1)
  expect(stdout.isPaused()).toBe(true)
  expect(stdout.readableLength + stdout.writableLength).toBeGreaterThan(0)
  stdout.end()
  await new Promise((resolve) => stdout.once('end', resolve))
  expect(output.end().stdout.length).toBe(6 * mib)
})

test('a listener that throws or rejects breaks nothing', async () => {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  let heard = ''
  const output = commandOutput(streams, (piece, from) => {
    heard += piece
    if (from === 'stdout') throw new Error('not now')
    return Promise.reject(new Error('not ever')) as unknown as void
  })
  streams.stdout.write('a')
  streams.stderr.write('b')
  await sleep(1)
  streams.stdout.write('c')
  await sleep(1)
  output.end()
  expect(heard).toBe('abc')
})
