import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import type { ToolOutput } from '../core/turn.ts'
import { createProcessContext } from '../execution/process.ts'
import { type Behavior, createAgent } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { createReadFileTool, readFile } from './read-file.ts'

let folder: string
let execution: ExecutionContext
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-read-'))
  execution = createProcessContext({ cwd: folder })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const numbered = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join('')

describe('a text', () => {
  test('A138 of 5000 lines comes in pages of 2000, and the pages join to the whole', async () => {
    put('long.txt', numbered(5000))
    const first = await read({ path: 'long.txt' })
    expect(footerOf(first.output)).toBe('(lines 1-2000 of 5000; re-read with offset=2001)')
    const second = await read({ path: 'long.txt', offset: 2001, limit: 0 })
    expect(footerOf(second.output)).toBe('(lines 2001-5000 of 5000)')
    expect(linesOf(first.output).concat(linesOf(second.output))).toEqual(numbered(5000).trimEnd().split('\n'))
    expect(second.details).toMatchObject({ lines: { first: 2001, last: 5000, total: 5000 } })
  })

  test('A138 paged by any limits joins to the whole, also with CRLF and characters of several bytes', async () => {
    const line = fc.constantFrom('', 'a', 'é', '漢字', '😀😀', 'some words', '\r', 'x\r', '(lines 1-2 of 3)')
    const text = fc
      .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { minLength: 1, maxLength: 30 })
      .map((lines) => lines.flat().join(''))
    const limits = fc.record({ limit: fc.integer({ min: 0, max: 5 }), maxBytes: fc.constantFrom(0, 22, 40, 400) })
    await fc.assert(
      fc.asyncProperty(text, limits, fc.boolean(), async (content, limit, isReal) => {
        put('any.txt', content)
        const place = isReal ? execution : memoryExecution({ files: { 'any.txt': content } })
        const joined = (await readAllPages('any.txt', limit, place)).join('\n')
        expect(joined).toBe(content.replace(/\n$/, '').replace(/\r$/, '').replaceAll('\r\n', '\n'))
      }),
      { numRuns: 60, seed: 5 },
    )
  })

  test('A138 pages that end anywhere near the border of a block join to the whole', async () => {
    const line = `${'é'.repeat(499)}\n`
    const content = `${line.repeat(3300)}the end`
    put('blocks.txt', content)
    const pages = await readAllPages('blocks.txt', { limit: 1049, maxBytes: 0 }, execution)
    expect(pages.join('\n') === content).toBe(true)
  })

  test('A139 ends after 262144 bytes, at a line, unless told otherwise', async () => {
    const content = `${'x'.repeat(999)}\n`.repeat(400)
    put('big.txt', content)
    const capped = await read({ path: 'big.txt' }, { readLineNumbers: false })
    expect(footerOf(capped.output)).toBe('(lines 1-262 of 400; re-read with offset=263)')
    expect(capped.details).toMatchObject({ bytes: 262_000 })
    const most = await read({ path: 'big.txt', maxBytes: 1500 }, { readLineNumbers: false })
    expect(footerOf(most.output)).toBe('(line 1 of 400; re-read with offset=2)')
    const whole = await read({ path: 'big.txt', maxBytes: 0, limit: 0 }, { readLineNumbers: false })
    expect(whole.output === content.trimEnd()).toBe(true)
  })

  test('its own options are the defaults', async () => {
    put('a.txt', numbered(9))
    const { output } = await use(createReadFileTool({ limit: 3 }), { path: 'a.txt' })
    expect(footerOf(output)).toBe('(lines 1-3 of 9; re-read with offset=4)')
  })

  test('A141 has a number and a tab before each line, unless numbers are not wanted', async () => {
    put('a.txt', 'one\n\ttwo\n\nfour\n')
    expect((await read({ path: 'a.txt' })).output).toBe('1\tone\n2\t\ttwo\n3\t\n4\tfour')
    const without = await read({ path: 'a.txt', offset: 2 }, { readLineNumbers: false })
    expect(without.output).toBe('\ttwo\n\nfour\n\n(lines 2-4 of 4)')
  })

  test('with a line longer than the bytes allow is cut there, never through a character', async () => {
    put('wide.txt', `${'😀'.repeat(100)}\nnext\n`)
    const { output } = await read({ path: 'wide.txt', maxBytes: 15 })
    expect(output).toBe(
      '1\t😀😀😀\n\n(line 1 of 2; line 1 is 401 bytes long, only its first 13 bytes are shown; for more of it re-read with a larger maxBytes; for the next line re-read with offset=2)',
    )
    expect((await read({ path: 'wide.txt', offset: 2, maxBytes: 15 })).output).toBe('2\tnext\n\n(line 2 of 2)')
  })

  test('without a newline at the end has its last line counted', async () => {
    put('a.txt', 'one\ntwo\nthree')
    expect(footerOf((await read({ path: 'a.txt', limit: 1 })).output)).toBe('(line 1 of 3; re-read with offset=2)')
    expect((await read({ path: 'a.txt', offset: 5 })).output).toContain('"a.txt" has 3 lines')
  })

  test('keeps what looks like a mark or a line end where it is none', async () => {
    put('a.txt', 'one\n\ufefftwo\nthree\r')
    const { output } = await read({ path: 'a.txt', offset: 2 })
    expect(output).toBe('2\t\ufefftwo\n3\tthree\r\n\n(lines 2-3 of 3; no newline at the end)')
  })

  test('that ends in the middle of a character says so', async () => {
    put('cut.txt', Buffer.from([0x61, 0xe6, 0xbc]))
    expect((await read({ path: 'cut.txt' })).output).toBe(
      '1\ta\ufffd\n\n(what is not valid in its encoding is shown as \ufffd; no newline at the end)',
    )
  })

  test('says what it does not show: CRLF, NUL, a missing newline', async () => {
    put('crlf.txt', 'a\r\nb\r\n')
    expect((await read({ path: 'crlf.txt' })).output).toBe('1\ta\n2\tb\n\n(CRLF line ends)')
    put('mixed.txt', 'a\r\nb\nc')
    expect((await read({ path: 'mixed.txt' })).output).toBe(
      '1\ta\n2\tb\n3\tc\n\n(1 of these lines end with CRLF; no newline at the end)',
    )
    put('late-nul.log', `${'x\n'.repeat(5000)}a\0b\n`)
    const { output } = await read({ path: 'late-nul.log', offset: 5001 })
    expect(output).toBe('5001\ta␀b\n\n(line 5001 of 5001; NUL bytes are shown as ␀)')
  })

  test('FT-12 in UTF-16 is read as text, page by page, and a byte order mark is never shown', async () => {
    const text = `${'é😀\u0a0a\n'.repeat(6000)}end\n`
    const little = Buffer.from(`\ufeff${text}`, 'utf16le')
    for (const [bytes, name] of [
      [little, 'UTF-16LE'],
      [Buffer.from(little).swap16(), 'UTF-16BE'],
    ] as const) {
      put('wide.txt', bytes)
      const { output } = await read({ path: 'wide.txt', offset: 6000 })
      expect(output).toBe(`6000\té😀\u0a0a\n6001\tend\n\n(lines 6000-6001 of 6001; the file is in ${name})`)
      const pages = await readAllPages('wide.txt', { limit: 0, maxBytes: 9999 }, execution)
      expect(`${pages.join('\n')}\n` === text).toBe(true)
    }
    put('bom.txt', '\ufeffplain\n')
    expect((await read({ path: 'bom.txt' })).output).toBe('1\tplain')
  })

  test('in Latin-1 is still shown as far as it can be', async () => {
    put('latin1.txt', Buffer.from('Grüße aus der schönen Schweiz, wo alles gut ist\n'.repeat(9), 'latin1'))
    expect((await read({ path: 'latin1.txt' })).output).toContain('Gr\ufffd\ufffde aus der sch\ufffdnen')
    put('short.txt', Buffer.from('café\n', 'latin1'))
    expect((await read({ path: 'short.txt' })).output).toContain('1\tcaf\ufffd\n')
  })
})

describe('what is no text', () => {
  test('A140 is told by a NUL byte or by many characters that are none', async () => {
    put('a.gz', gzipSync(Buffer.from(numbered(3000))))
    expect((await read({ path: 'a.gz' })).output).toMatch(/^\[binary file: [\d,]+ bytes, application\/gzip\]$/)
    put('nul.dat', 'some text\0and more')
    expect((await read({ path: 'nul.dat' })).output).toBe('[binary file: 18 bytes, no text in UTF-8]')
    put('noise.dat', Buffer.from(Array.from({ length: 999 }, (_, i) => 128 + (i % 128))))
    expect((await read({ path: 'noise.dat' })).output).toBe('[binary file: 999 bytes, no text in UTF-8]')
    const decoded = memoryExecution({ files: { 'noise.dat': '\ufffd'.repeat(50) } })
    expect((await read({ path: 'noise.dat' }, {}, decoded)).output).toContain('[binary file: 150 bytes')
  })

  test('an image is shown as what it is, whatever its name says', async () => {
    put('photo.jpg', png)
    const { output, details } = await read({ path: 'photo.jpg' })
    expect(output).toEqual([
      { type: 'text', text: `photo.jpg: image/png, 1×1, ${png.length} bytes` },
      { type: 'image', mediaType: 'image/png', data: png.toString('base64') },
    ])
    expect(details).toMatchObject({ file: { access: 'read', digest: digestOf(png) } })
    put('g.gif', gif)
    expect((await read({ path: 'g.gif' })).output).toMatchObject([{}, { type: 'image', mediaType: 'image/gif' }])
    put('w.webp', webp)
    expect((await read({ path: 'w.webp' })).output).toMatchObject([{}, { type: 'image', mediaType: 'image/webp' }])
    put('j.jpg', jpeg)
    expect((await read({ path: 'j.jpg' })).output).toMatchObject([{}, { type: 'image', mediaType: 'image/jpeg' }])
  })

  test('FT-07 an image that is cut off, too big or too wide is described, not sent', async () => {
    for (const [name, whole] of [
      ['p.png', png],
      ['g.gif', gif],
      ['w.webp', webp],
      ['j.jpg', jpeg],
    ] as const) {
      put(name, whole.subarray(0, whole.length - 4))
      expect((await read({ path: name })).output, name).toMatch(/^\[.*damaged or cut off/)
    }
    const flat = Buffer.from(gif)
    flat.writeUInt16LE(0, 6)
    put('flat.gif', flat)
    expect((await read({ path: 'flat.gif' })).output).toMatch(/^\[flat\.gif: image\/gif, .*damaged/)
    put('head.png', png.subarray(0, 20))
    expect((await read({ path: 'head.png' })).output).toMatch(/^\[head\.png: image\/png, 20 bytes: damaged or cut off/)
    put('big.png', Buffer.concat([png, Buffer.alloc(4 * 1024 * 1024)]))
    expect((await read({ path: 'big.png' })).output).toMatch(/^\[big\.png: .*too large.*smaller copy\]$/)
    const wide = Buffer.from(png)
    wide.writeUInt32BE(8001, 16)
    put('wide.png', wide)
    expect((await read({ path: 'wide.png' })).output).toMatch(/^\[wide\.png: image\/png, 8001×1, .*8000 pixels/)
  })

  test('a PDF comes as a document, unless it is cut off or too large', async () => {
    const pdf = Buffer.from('%PDF-1.4\nnothing in it\n%%EOF\n')
    mkdirSync(join(folder, 'docs'))
    put('docs/a.pdf', pdf)
    expect((await read({ path: 'docs/a.pdf' })).output).toEqual([
      { type: 'text', text: `docs/a.pdf: application/pdf, ${pdf.length} bytes` },
      { type: 'document', mediaType: 'application/pdf', data: pdf.toString('base64'), name: 'a.pdf' },
    ])
    put('cut.pdf', pdf.subarray(0, 20))
    expect((await read({ path: 'cut.pdf' })).output).toMatch(/^\[cut\.pdf: .*cut off/)
    put('big.pdf', Buffer.concat([pdf, Buffer.alloc(20 * 1024 * 1024)]))
    expect((await read({ path: 'big.pdf' })).output).toMatch(/^\[big\.pdf: .*larger than the 20,971,520 bytes/)
  })
})

describe('what cannot be read', () => {
  test.each(['process', 'memory'])('is explained (%s)', async (kind) => {
    put('full/readme.md', 'one\ntwo\n')
    const memory = memoryExecution({ files: { 'full/readme.md': 'one\ntwo\n', 'empty.txt': '' } })
    put('empty.txt', '')
    const place = kind === 'process' ? execution : memory
    const told = async (input: Record<string, unknown>) => (await read(input, {}, place)).output
    expect(await told({ path: 'empty.txt' })).toBe('(empty file)')
    expect(await told({ path: 'empty.txt', offset: 2 })).toBe(
      'Tool error: offset 2 is beyond the end: "empty.txt" has 0 lines',
    )
    expect(await told({ path: 'full/readme.md', offset: 9 })).toBe(
      'Tool error: offset 9 is beyond the end: "full/readme.md" has 2 lines',
    )
    expect(await told({ path: 'full/readme.md', offset: 3 })).toContain('offset 3 is beyond the end')
    expect(await told({ path: 'full/readme.md', offset: 0 })).toBe('1\tone\n2\ttwo')
    expect(await told({ path: 'full/readme.md', limit: -1 })).toBe(
      'Validation error: "limit" must not be negative, got -1',
    )
    expect(await told({ path: 'full' })).toBe('Tool error: "full" is a folder; see what is in it with list_files')
    expect(await told({ path: 'full/raedme.md' })).toBe(
      'Tool error: there is no "full/raedme.md"; did you mean "full/readme.md"?',
    )
  })

  test('FT-27 FS-14 a FIFO and a device are refused without hanging', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')])
    expect((await read({ path: 'pipe' })).output).toMatch(/^Tool error: .*pipe/)
    const anywhere = createProcessContext({ cwd: folder, roots: 'any' })
    expect((await read({ path: '/dev/zero' }, {}, anywhere)).output).toMatch(/^Tool error: .*\/dev\/zero/)
  })

  test('FS-03 a link that leads outside is judged by where it leads', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'libero-outside-'))
    try {
      writeFileSync(join(outside, 'id_x'), 'secret')
      symlinkSync(join(outside, 'id_x'), join(folder, 'link'))
      const { output } = await read({ path: 'link' })
      expect(output).toMatch(/^Tool error: .*outside/)
      expect(output).not.toContain('secret')
    } finally {
      rmSync(outside, { recursive: true })
    }
  })

  test.skipIf(process.getuid?.() === 0)('a file without permission is named', async () => {
    put('closed.txt', 'x')
    chmodSync(join(folder, 'closed.txt'), 0)
    expect((await read({ path: 'closed.txt' })).output).toBe('Tool error: no permission for "closed.txt"')
  })
})

test('A169 A173 the same part of the same file is told by the same key, digest and slice, whichever path led to it', async () => {
  put('src/x', 'one\ntwo\n')
  symlinkSync('src', join(folder, 'alias'))
  const [one, two, three, other] = await Promise.all([
    fileOf({ path: 'src/x' }),
    fileOf({ path: './src/x', offset: 1, limit: 2000 }),
    fileOf({ path: 'alias/../src/x' }),
    fileOf({ path: 'src/x', offset: 2 }),
  ])
  expect(one).toMatchObject({ path: 'src/x', access: 'read', digest: digestOf('one\ntwo\n') })
  expect(two).toEqual({ ...one, path: './src/x' })
  expect(three.key).toBe(one.key)
  expect(other).toMatchObject({ key: one.key, digest: one.digest })
  expect(other.slice).not.toBe(one.slice)
})

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const gif = Buffer.from('R0lGODlhAQABAIAAAP///wAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')
const webp = Buffer.from('UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=', 'base64')
/** Start, a frame header of 2×3 pixels, end. */
const jpeg = Buffer.from('ffd8ffc0000b080003000201011100ffd9', 'hex')

function put(name: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), content)
}

const read = (input: Record<string, unknown>, behavior: Behavior = {}, place = execution) =>
  use(readFile, input, behavior, place)

async function use(
  tool: typeof readFile,
  input: Record<string, unknown>,
  behavior: Behavior = {},
  place = execution,
): Promise<{ output: ToolOutput; details: unknown }> {
  const provider = scripted([call('1', tool.spec.name, input)], 'done')
  const agent = createAgent({ provider, tools: { tool }, execution: place, behavior })
  let details: unknown
  agent.hooks.hook('tool:after', (after) => void (details = after.details))
  await agent.run({ prompt: 'go' })
  const block = agent.turns[2]?.content[0]
  if (block?.type !== 'tool_result') throw new Error('there is no result')
  return { output: block.output, details }
}

async function fileOf(input: Record<string, unknown>): Promise<Record<string, unknown>> {
  return ((await read(input)).details as { file: Record<string, unknown> }).file
}

/** Follows the footers to the end. */
async function readAllPages(
  path: string,
  limits: { limit: number; maxBytes: number },
  place: ExecutionContext,
): Promise<string[]> {
  const lines: string[] = []
  for (let offset = 1, pages = 0; pages < 200; pages++) {
    const { output, details } = await read({ path, offset, ...limits }, {}, place)
    const { first, last } = (details as { lines: { first: number; last: number } }).lines
    expect(first).toBe(offset)
    lines.push(...linesOf(output, last - first + 1))
    const next = /re-read with offset=(\d+)\)?(;|\)$|$)/.exec(footerOf(output))
    if (!next) return lines
    offset = Number(next[1])
    expect(offset).toBe(last + 1)
  }
  throw new Error('the pages do not end')
}

function linesOf(output: ToolOutput, count?: number): string[] {
  const lines = String(output).split('\n')
  const shown = count === undefined ? lines.filter((line) => /^\d+\t/.test(line)) : lines.slice(0, count)
  return shown.map((line) => line.replace(/^\d+\t/, ''))
}

const footerOf = (output: ToolOutput): string => /\n\n(\(.*\))$/.exec(String(output))?.[1] ?? ''
