import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProcessContext } from '../execution/process.ts'
import { createAgent } from '../index.ts'
import { call, scripted } from '../testing/index.ts'
import { readFile } from './read-file.ts'

const megabyte = 1024 * 1024
/** Blocks that were let go wait for the collector, which comes after some 64 MB of them. */
const mostMemory = 96 * megabyte
let folder: string
let atRest: number
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-large-'))
  atRest = highWater()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a large file', () => {
  test('of 100 MB is paged anywhere with flat memory', async () => {
    const line = `${'0123456789'.repeat(6)}abc\n`
    write('log.txt', Buffer.from(line.repeat(megabyte / 64)), 100)
    const early = await read({ path: 'log.txt', limit: 2 })
    expect(early).toMatch(/^1\t0.*abc\n2\t0.*abc\n\n\(lines 1-2, more follow; re-read with offset=3\)$/)
    const lines = (100 * megabyte) / 64
    const late = await read({ path: 'log.txt', offset: lines - 1 })
    expect(late).toMatch(/\n\n\(lines 1638399-1638400 of 1638400\)$/)
    expect(await read({ path: 'log.txt', offset: lines + 1 })).toContain('has 1638400 lines')
    expect(highWater() - atRest).toBeLessThan(mostMemory)
  })

  test('FT-28 of a single line of 200 MB is cut, with a note and flat memory', async () => {
    write('line.json', Buffer.alloc(megabyte, 'é'), 200)
    const output = await read({ path: 'line.json' })
    expect(output).toMatch(
      /^1\té+\n\n\(line 1 is 209,715,200 bytes long, only its first 262,142 bytes are shown; for more of it re-read with a larger maxBytes\)$/,
    )
    expect(highWater() - atRest).toBeLessThan(mostMemory)
    const most = await read({ path: 'line.json', maxBytes: 0 })
    expect(Buffer.byteLength(most)).toBeGreaterThan(32 * megabyte)
    expect(Buffer.byteLength(most)).toBeLessThan(33 * megabyte)
  })
})

/** The most memory that this process has had so far, in bytes. */
const highWater = (): number => process.resourceUsage().maxRSS * 1024

function write(name: string, piece: Uint8Array, count: number): void {
  const file = openSync(join(folder, name), 'w')
  for (let i = 0; i < count; i++) writeSync(file, piece)
  closeSync(file)
}

async function read(input: Record<string, unknown>): Promise<string> {
  const provider = scripted([call('1', 'read_file', input)], 'done')
  const execution = createProcessContext({ cwd: folder })
  const agent = createAgent({ provider, tools: { readFile }, execution })
  await agent.run({ prompt: 'go' })
  const block = agent.turns[2]?.content[0]
  return block?.type === 'tool_result' ? String(block.output) : ''
}
