import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatch } from 'diff'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ExecutionContext } from '../core/execution.ts'
import type { ToolContext, ToolDef } from '../core/tool.ts'
import { createProcessContext } from '../execution/process.ts'
import { createAgent } from '../index.ts'
import { digestOf } from '../platform/digest.ts'
import { call, memoryExecution, scripted } from '../testing/index.ts'
import { edit } from './edit.ts'
import type { EditDetails } from './edit-file.ts'
import { readFile } from './read-file.ts'

let folder: string
let execution: ExecutionContext
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-edit-'))
  execution = createProcessContext({ cwd: folder })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)
const put = (name: string, content: string | Uint8Array): void => writeFileSync(at(name), content)
const held = (name: string): string => readFileSync(at(name), 'utf8')
const bytesOf = (name: string): Buffer => readFileSync(at(name))

interface Given {
  readonly path?: string
  readonly old_string?: unknown
  readonly new_string?: unknown
  readonly replace_all?: unknown
}

/** Runs one call through an agent, as a model would. */
async function run(
  input: Given,
  { tool = edit, place = execution }: { tool?: ToolDef; place?: ExecutionContext } = {},
): Promise<{ output: string; details: Partial<EditDetails> }> {
  const agent = createAgent({
    provider: scripted([call('1', 'edit', { path: 'a.txt', ...input })], 'done'),
    tools: { tool },
    execution: place,
  })
  const after: { output: string; details: Partial<EditDetails> } = { output: '', details: {} }
  agent.hooks.hook('tool:after', ({ result, details }) => {
    after.output = String(result)
    if (details) after.details = details
  })
  agent.hooks.hook('validation:reject', ({ error }) => {
    after.output = `Validation error: ${error}`
  })
  await agent.run({ prompt: 'go' })
  await agent.destroy?.()
  return after
}

describe('an edit', () => {
  test('changes the file and says where', async () => {
    put('a.txt', 'one\ntwo\nthree\n')
    const { output, details } = await run({ old_string: 'two', new_string: '2\n2.5' })
    expect(output).toBe('Edited a.txt (1 replacement, line 2)')
    expect(held('a.txt')).toBe('one\n2\n2.5\nthree\n')
    expect(details.replacements).toBe(1)
    expect(details.file).toMatchObject({ path: 'a.txt', access: 'edit', digest: digestOf(bytesOf('a.txt')) })
    expect(details.diff).toBe('--- a.txt\n+++ a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n')
  })

  test('A143 that is not unique is refused, and replace_all works', async () => {
    put('a.txt', 'x = 1\ny = 2\nx = 1\n')
    expect((await run({ old_string: 'x = 1', new_string: 'z' })).output).toBe(
      'Tool error: "a.txt" was left as it is: old_string occurs 2 times (lines 1, 3): include surrounding lines of the one you mean, or set replace_all to replace all of them',
    )
    expect(held('a.txt')).toBe('x = 1\ny = 2\nx = 1\n')
    const { output, details } = await run({ old_string: 'x = 1', new_string: 'z', replace_all: 'true' })
    expect(output).toBe('Edited a.txt (2 replacements, lines 1, 3)')
    expect(details.replacements).toBe(2)
    expect(held('a.txt')).toBe('z\ny = 2\nz\n')
  })

  test('A144 that finds nothing shows the nearest match and changes nothing', async () => {
    put('a.txt', 'const first = 1\nconst second = 2\n')
    const { output, details } = await run({ old_string: 'const secnod = 2', new_string: 'x' })
    expect(output).toContain('Tool error: "a.txt" was left as it is: old_string was not found')
    expect(output).toContain('2\tconst second = 2')
    expect(details).toEqual({})
    expect(held('a.txt')).toBe('const first = 1\nconst second = 2\n')
  })

  test('A141 takes what read_file showed, line numbers and all', async () => {
    put('a.txt', 'alpha\r\n\r\nbeta gamma\r\ndelta\r\n')
    const agent = createAgent({
      provider: scripted([call('1', 'read_file', { path: 'a.txt' })], 'done'),
      tools: { readFile },
      execution,
    })
    let shown = ''
    agent.hooks.hook('tool:after', ({ result }) => {
      shown = String(result)
    })
    await agent.run({ prompt: 'go' })
    const pasted = shown.split('\n').slice(0, 3).join('\n')
    expect(pasted).toBe('1\talpha\n2\t\n3\tbeta gamma')
    const { output } = await run({ old_string: pasted, new_string: pasted.replace('beta', 'BETA') })
    expect(output).toBe('Edited a.txt (1 replacement, line 1)')
    expect(held('a.txt')).toBe('alpha\r\n\r\nBETA gamma\r\ndelta\r\n')
  })

  test('that is not exact says so, and shows what stands there now', async () => {
    put('a.txt', 'if (x) {\n\tgo(“there”)  \n}\n')
    const { output } = await run({ old_string: '    go("there")', new_string: '    go("home")' })
    expect(output).toBe(
      'Edited a.txt (1 replacement, line 2)\nold_string did not match exactly; the match differed in whitespace at the ends of lines, indentation (new_string was indented to fit), characters that look alike (quotes, dashes, spaces), and now reads:\n2\t\tgo(“home”)',
    )
    expect(held('a.txt')).toBe('if (x) {\n\tgo(“home”)\n}\n')
  })

  test('of an empty file with nothing as old text fills it; of another, or none, it is refused', async () => {
    put('a.txt', '')
    await run({ old_string: '', new_string: 'all\n' })
    expect(held('a.txt')).toBe('all\n')
    expect((await run({ old_string: '', new_string: 'more' })).output).toContain('use write_file')
    expect((await run({ path: 'none.txt', old_string: '', new_string: 'x' })).output).toBe(
      'Tool error: there is no "none.txt"; create it with write_file',
    )
    expect(held('a.txt')).toBe('all\n')
    expect(readdirSync(folder)).toEqual(['a.txt'])
  })

  test('of what is no file says what is wrong', async () => {
    mkdirSync(at('sub'))
    put('sub/config.ts', 'x')
    const input = { old_string: 'x', new_string: 'y' }
    expect((await run({ ...input, path: 'sub/confg.ts' })).output).toBe(
      'Tool error: there is no "sub/confg.ts"; did you mean "sub/config.ts"?',
    )
    expect((await run({ ...input, path: 'sub' })).output).toContain('is a folder')
    expect((await run({ ...input, path: '../../libero-outside.txt' })).output).toContain('outside')
  })

  test('with the same text twice, or an unpaired surrogate, is refused', async () => {
    put('a.txt', '😀')
    expect((await run({ old_string: '😀', new_string: '😀' })).output).toContain('are the same')
    expect(edit.check?.({ old_string: '\uD83D', new_string: 'x' })).toEqual({
      valid: false,
      error: '"old_string" has an unpaired surrogate (\\ud83d) at 0; write the whole character',
    })
    expect(edit.check?.({ old_string: '😀', new_string: 'a\uDE00' })).toMatchObject({ valid: false })
    expect(edit.check?.({ old_string: '😀', new_string: 'a😀' })).toBeUndefined()
    expect(held('a.txt')).toBe('😀')
  })

  test('works where a context has only the seven verbs', async () => {
    const memory = memoryExecution({ files: { 'a.txt': 'one\r\ntwo\r\n' } })
    const { output, details } = await run({ old_string: 'one\ntwo', new_string: '1\ntwo' }, { place: memory })
    expect(output).toBe('Edited a.txt (1 replacement, line 1)')
    expect(memory.files.get('/project/a.txt')).toBe('1\r\ntwo\r\n')
    expect(details.file?.digest).toBe(digestOf('1\r\ntwo\r\n'))
  })

  test('declares what it is', () => {
    expect(edit).toMatchObject({
      isConcurrencySafe: false,
      replay: 'keyed',
      effects: ['fs.read', 'fs.write'],
      timeoutMs: 30_000,
    })
    const input = { path: 'src//a/../b.ts', old_string: '', new_string: '' }
    expect(edit.touches?.(input)).toEqual([{ path: 'src//a/../b.ts', access: 'edit' }])
    expect(
      ['src//a/../b.ts', 'b.ts', './b.ts', '/b.ts', 'a\\b.ts'].map((path) =>
        edit.deriveApprovalKey?.({ ...input, path }),
      ),
    ).toEqual(['src', '.', '.', '/', 'a'])
  })
})

describe('bytes', () => {
  test.each([
    ['CRLF', 'one\r\ntwo\r\nthree\r\n', 'one\ntwo', 'one\n2\n2.5', 'one\r\n2\r\n2.5\r\nthree\r\n'],
    ['mixed endings', 'a\r\nb\nc', 'b', 'B', 'a\r\nB\nc'],
    ['bare CR', 'a\rb\rc', 'b\nc', 'b\nC', 'a\rb\rC'],
    ['a byte order mark', '\uFEFFone\ntwo\n', 'one', '1', '\uFEFF1\ntwo\n'],
    ['no final newline', 'one\ntwo', 'two', '2', 'one\n2'],
    ['characters of many bytes', 'é😀漢\né\n', '😀', '🙃', 'é🙃漢\né\n'],
  ])('FT-19 outside the match survive: %s', async (_, before, old_string, new_string, after) => {
    put('a.txt', before)
    await run({ old_string, new_string })
    expect(JSON.stringify(held('a.txt'))).toBe(JSON.stringify(after))
  })

  test('FT-19 the file keeps its mode, and a link stays a link', async () => {
    put('run.sh', '#!/bin/sh\necho old\n')
    chmodSync(at('run.sh'), 0o751)
    symlinkSync('run.sh', at('link.sh'))
    await run({ path: 'link.sh', old_string: 'old', new_string: 'new' })
    expect(held('run.sh')).toBe('#!/bin/sh\necho new\n')
    expect(statSync(at('run.sh')).mode & 0o777).toBe(0o751)
    expect(
      readdirSync(folder, { withFileTypes: true })
        .find(({ name }) => name === 'link.sh')
        ?.isSymbolicLink(),
    ).toBe(true)
  })

  test('FT-20 of Latin-1 stay what they are', async () => {
    put('a.txt', Buffer.from('caf\xe9 au lait\r\nth\xe9 noir\r\n', 'latin1'))
    const { details } = await run({ old_string: 'au lait\nth', new_string: 'au sucre\nplus\nth' })
    expect(bytesOf('a.txt').toString('latin1')).toBe('caf\xe9 au sucre\r\nplus\r\nth\xe9 noir\r\n')
    expect(details.file?.digest).toBe(digestOf(bytesOf('a.txt')))
  })

  test('FT-20 in a file that is not all UTF-8 nothing is written in a guessed encoding', async () => {
    const before = Buffer.concat([Buffer.from('plain “quoted” '), Buffer.from([0xe9, 0x20]), Buffer.from('end\n')])
    put('a.txt', before)
    expect((await run({ old_string: 'plain', new_string: 'schön' })).output).toContain('it is unknown how to encode')
    expect((await run({ old_string: '\uFFFD end', new_string: 'x' })).output).toContain('leave them out')
    expect(bytesOf('a.txt')).toEqual(before)
    await run({ old_string: '“quoted”', new_string: '„zitiert“' })
    expect(bytesOf('a.txt').toString('latin1')).toBe(
      before.toString('latin1').replace(latin('“quoted”'), latin('„zitiert“')),
    )
  })

  test('FT-20 in a file that is not all UTF-8 no two characters look alike, though their last bytes would as Latin-1', async () => {
    const before = Buffer.concat([Buffer.from([0xe9]), Buffer.from('\nse queda allà\nfin\n')])
    put('a.txt', before)
    expect((await run({ old_string: 'se queda allí\nfin', new_string: 'se queda aquí\nfin' })).output).toContain(
      'not found',
    )
    expect((await run({ old_string: 'se queda all\u00C3\nfin', new_string: 'x' })).output).toContain('not found')
    expect(bytesOf('a.txt')).toEqual(before)
    await run({ old_string: 'se queda allà  \nfin', new_string: 'se queda aquí\nfin' })
    expect(bytesOf('a.txt').toString('latin1')).toBe(`\xe9\n${latin('se queda aquí\nfin\n')}`)
  })

  test.each(['little', 'big'])('FT-20 of UTF-16, %s end first, are written as UTF-16', async (end) => {
    const encode = (text: string): Buffer =>
      end === 'big' ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, 'utf16le')
    put('a.txt', encode('\uFEFFerste\r\nzweite\r\n'))
    const { output, details } = await run({ old_string: 'erste\nzweite', new_string: 'erste\nüber 😀' })
    expect(output).toBe('Edited a.txt (1 replacement, line 1)')
    expect(bytesOf('a.txt')).toEqual(encode('\uFEFFerste\r\nüber 😀\r\n'))
    expect(details.diff).toContain('-zweite')
  })

  test('FT-20 of what is no text are not touched', async () => {
    const before = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1, 0x61])
    put('a.txt', before)
    expect((await run({ old_string: 'a', new_string: 'b' })).output).toBe(
      'Tool error: "a.txt" is not a text file, so it cannot be edited; use a command instead',
    )
    expect(bytesOf('a.txt')).toEqual(before)
  })

  test('FT-20 that a context has lost in decoding are not written back', async () => {
    const memory = memoryExecution({ files: { 'a.txt': 'caf\uFFFD au lait' } })
    expect((await run({ old_string: 'lait', new_string: 'x' }, { place: memory })).output).toContain('without damage')
    expect(memory.files.get('/project/a.txt')).toBe('caf\uFFFD au lait')
  })

  test('FT-19 FT-20 of any text outside the match are the same after an edit', async () => {
    const junk = fc.array(fc.constantFrom('a', ' ', '\t', '\n', '\r\n', '\r', 'é', '😀', '\xe9raw', '}', '“'), {
      maxLength: 12,
    })
    const bytes = junk.map((parts) =>
      Buffer.concat(parts.map((part) => (part === '\xe9raw' ? Buffer.from([0xe9]) : Buffer.from(part)))),
    )
    await fc.assert(
      fc.asyncProperty(bytes, bytes, async (before, after) => {
        put('a.txt', Buffer.concat([before, Buffer.from('<here\r\nit is>'), after]))
        const { output } = await run({ old_string: '<here\nit is>', new_string: '<gone>' })
        const now = bytesOf('a.txt')
        if (output.includes('is not a text file')) {
          expect(now).toEqual(Buffer.concat([before, Buffer.from('<here\r\nit is>'), after]))
          return
        }
        expect(digestOf(now.subarray(0, before.length))).toBe(digestOf(before))
        expect(digestOf(now.subarray(before.length + 6))).toBe(digestOf(after))
        expect(now.subarray(before.length, before.length + 6).toString()).toBe('<gone>')
      }),
      { numRuns: 60, seed: 21 },
    )
  })

  test.each([
    ['mixed endings', 'a\r\nb\nc\rd', 'a\nb\nc', 'a\nX\nY'],
    ['a byte order mark', '\uFEFFa\r\nb', 'b', 'c\nd'],
  ])('FS-20 the diff is that of the bytes on disk: %s', async (_, before, old_string, new_string) => {
    put('a.txt', before)
    const { details } = await run({ old_string, new_string })
    expect(held('a.txt')).not.toBe(before)
    expect(applyPatch(before, details.diff!, { autoConvertLineEndings: false })).toBe(held('a.txt'))
  })
})

describe('others who write', () => {
  test('FT-18 between our reading and our writing make the edit stale', async () => {
    put('a.txt', 'one\ntwo\n')
    const raced: ExecutionContext = {
      ...execution,
      writeFile(...args) {
        put('a.txt', 'theirs\n')
        return execution.writeFile(...args)
      },
    }
    expect((await run({ old_string: 'two', new_string: '2' }, { place: raced })).output).toBe(
      'Tool error: "a.txt" was changed meanwhile and was left as it is; read it again',
    )
    expect(held('a.txt')).toBe('theirs\n')
  })

  test('FT-21 at the same time, by another name, wait: both edits are there', async () => {
    put('a.txt', 'one\ntwo\n')
    symlinkSync('a.txt', at('b.txt'))
    await Promise.all([
      run({ old_string: 'one', new_string: '1' }),
      run({ path: 'b.txt', old_string: 'two', new_string: '2' }),
    ])
    expect(held('a.txt')).toBe('1\n2\n')
  })

  test('A171 an edit tells what it left, so that the next one needs no new reading', async () => {
    put('a.txt', 'one\ntwo\n')
    const results: string[] = []
    const agent = createAgent({
      provider: scripted(
        [call('1', 'edit', { path: 'a.txt', old_string: 'one', new_string: '1' })],
        [call('2', 'read_file', { path: 'a.txt' })],
        [call('3', 'edit', { path: 'a.txt', old_string: 'one', new_string: '1' })],
        [call('4', 'edit', { path: './a.txt', old_string: 'two', new_string: '2' })],
        [call('5', 'edit', { path: 'a.txt', old_string: '1', new_string: 'I' })],
        'done',
      ),
      tools: { readFile, edit },
      execution,
      behavior: { requireReadBeforeEdit: true },
    })
    agent.hooks.hook('turn:after', () => {
      if (results.length === 4) put('a.txt', '1\n2\ntheirs\n')
    })
    agent.hooks.hook('tool-results:after', ({ resultTurn: { content } }) => {
      const [block] = content
      results.push(block?.type === 'tool_result' ? String(block.output) : '')
    })
    await agent.run({ prompt: 'go' })
    expect(results[0]).toContain('must be read before it is edited')
    expect(results.slice(2, 4)).toEqual([
      'Edited a.txt (1 replacement, line 1)',
      'Edited ./a.txt (1 replacement, line 2)',
    ])
    expect(results[4]).toContain('has changed since it was read')
    expect(held('a.txt')).toBe('1\n2\ntheirs\n')
  })
})

test('an edit that runs again after a crash is made once', async () => {
  put('a.txt', 'one\n')
  const twice: ToolDef = {
    ...edit,
    async execute(input, ctx: ToolContext) {
      await edit.execute(input, ctx)
      return edit.execute(input, again(ctx))
    },
  }
  const { output, details } = await run({ old_string: 'one', new_string: 'one one' }, { tool: twice })
  expect(output).toBe('Edited a.txt (an earlier attempt of this call had already done it)')
  expect(held('a.txt')).toBe('one one\n')
  expect(details.file?.digest).toBe(digestOf('one one\n'))
})

/** The context of the same call after a restart. */
const again = (ctx: ToolContext): ToolContext =>
  new Proxy(ctx, { get: (target, name) => (name === 'attempt' ? 2 : Reflect.get(target, name, target)) })

const latin = (text: string): string => Buffer.from(text).toString('latin1')
