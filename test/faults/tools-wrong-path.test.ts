import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { type Answer, asProgram, canRunAs, type Expected, ok, openWorld, type World, wrongIn } from './tools-kit.ts'

const test = testInTurns(2)

type Tool = 'read_file' | 'write_file' | 'edit' | 'multi_edit' | 'list_files' | 'glob' | 'grep'

const edits = [{ old_string: 'one', new_string: 'uno' }]
const inputOf: Record<Tool, (path: unknown) => Record<string, unknown>> = {
  read_file: (path) => ({ path }),
  write_file: (path) => ({ path, content: 'new\n' }),
  edit: (path) => ({ path, ...edits[0] }),
  multi_edit: (path) => ({ path, edits }),
  list_files: (path) => ({ path }),
  glob: (path) => ({ path, pattern: '**' }),
  grep: (path) => ({ path, pattern: 'one' }),
}

const created = { write_file: ok(/^Created .* \(1 line\)$/) }
const replaced = { write_file: ok(/^Updated .* \(1 line\)$/) }
const editors = (expected: Expected) => ({ edit: expected, multi_edit: expected })
const seekers = (expected: Expected) => ({ list_files: expected, glob: expected, grep: expected })
const hereToo = seekers(ok(/^good\.txt$/m))
const noFile = { write_file: /names a folder; give the path/, ...editors(/names a folder; give the path/) }
const inFolder = { list_files: ok(/^x\.txt$/), glob: ok(/^folder\/x\.txt$/), grep: ok(/^No matches found$/) }
const notFound = editors(/old_string was not found/)
/** A disposable folder: a test with a broken guard must not harm the machine it runs on. */
const elsewhere = join(tmpdir(), 'libero-outside', 'x.txt')
const outside = /outside the folders that tools may use \(.*project\)\. Work inside these/

/** What the path is, the path, what all tools say to it, and which say something else. */
type Row = readonly [what: string, path: unknown, all: Expected, but?: Partial<Record<Tool, Expected>>]
const rows: readonly Row[] = [
  ['that is not there', 'none.txt', /there is no "none\.txt"/, created],
  ['that is nearly there', 'god.txt', /there is no "god\.txt"; did you mean "good\.txt"\?/, created],
  ['in a folder that is not there', 'no/f', /there is no "no\/f", and no folder "no" either/, created],
  ['to a folder', 'folder', /"folder" is a folder/, inFolder],
  ['to a folder, with a slash', 'folder/', /"folder\/" is a folder/, { ...inFolder, ...noFile }],
  ['through a file', 'file.txt/x', /"file\.txt\/x" cannot be: a part of that path is a file, not a folder/],
  ['to a file', 'file.txt', ok(/one|^(Updated|Edited) |^file/), { list_files: /is a file/, glob: /is a file/ }],
  ['to an empty file', 'empty', ok(/^\(empty file\)$|^No matches/), { ...replaced, ...notFound, ...folders('empty') }],
  ['to a binary file', 'binary', ok(/binary file/), { ...replaced, ...editors(/not a text/), ...folders('binary') }],
  ['to 300 MB', 'huge', ok(/binary file/), { ...replaced, ...editors(/has 314572800 bytes/), ...folders('huge') }],
  ['to a pipe', 'pipe', /"pipe" is |pipe" is a named pipe; only regular files can be/],
  ['to a socket', 'socket', /"socket" is |socket" is a socket; only regular files can be/],
  ['to a device', '/dev/zero', outside],
  ['to a link to a device', 'zero', outside],
  ['to a link to nowhere', 'dangling', /there is no "dangling"/, created],
  ['to a link to itself', 'loop', /"loop" is a link that leads round in a circle/],
  ['through a link to itself', 'loop/x', /"loop\/x" is a link that leads round in a circle/],
  ['with a NUL', 'a\0b', /The path "a\\u0000b" holds a NUL character; give it without/],
  ['of no characters', '', /The path is empty; give the path of a file or a folder, "\." for this one/, hereToo],
  ['of 5,000 characters', `${'d/'.repeat(2500)}x`, /is too long for this system/],
  ['with a name of 300 characters', 'n'.repeat(300), /is too long for this system/],
  ['with half a character', '\ud800', /could not be read: it holds half a character/],
  ['FS-01 that goes up', '../secret.txt', outside],
  ['FS-01 that goes down and up', 'folder/../../secret.txt', outside],
  ['FS-02 to a sibling with the same beginning', '../project-evil/x.txt', outside],
  ['FS-03 to a link to a file outside', 'leak', outside],
  ['FS-04 through a link to a folder outside', 'up/secret.txt', outside],
  ['FS-04 to a new file through a link to a folder outside', 'up/new.txt', outside],
  ['FS-13 to the home folder', '~/.libero-outside/key', outside],
  ['FS-13 that is a URL', `file://${elsewhere}`, outside],
  ['FS-14 to a file of the system', '/proc/self/environ', outside],
  ['that is absolute', elsewhere, outside],
  ['that is a number', 5, /there is no "5"/, created],
  ['that is a list', ['good.txt'], /^Validation error: "path" must be string, got array$/],
  ['that is an object', { a: 1 }, /^Validation error: "path" must be string, got object$/],
  ['that is null', null, /^Validation error: missing required property "path"$/, hereToo],
  ['that was forgotten', undefined, /^Validation error: missing required property "path"$/, hereToo],
]

function folders(name: string) {
  const isFile = new RegExp(`"${name}" is a file`)
  return { list_files: isFile, glob: isFile }
}

/** What each gives where nothing is wrong: the next call always works. */
const right: Record<Tool, readonly [path: string, words: RegExp]> = {
  read_file: ['good.txt', /^1\tone/],
  write_file: ['good.txt', /^Updated good\.txt|^No change needed/],
  edit: ['good.txt', /^Edited good\.txt/],
  multi_edit: ['good.txt', /^Edited good\.txt/],
  list_files: ['.', /^good\.txt$/m],
  glob: ['.', /^good\.txt$/m],
  grep: ['.', /^good\.txt$/m],
}

const secret = 'CANARY-of-the-outside'

describe.each(Object.keys(inputOf) as Tool[])('%s with a path', (tool) => {
  let world: World
  let socket: Server
  beforeAll(() => {
    world = openWorld({ behavior: { dedupReads: false } })
    socket = furnish(world)
  })
  afterAll(async () => {
    socket.close()
    await world.close()
  })

  test.each(rows.map((row) => [row[0], row] as const))('%s', async (_, [, path, all, but = {}]) => {
    const answer = await world.use(tool, inputOf[tool](path))
    judge(answer, but[tool] ?? all)
    expect(answer.output).not.toContain(secret)

    world.put('good.txt', 'one\n')
    const [goodPath, words] = right[tool]
    judge(await world.use(tool, inputOf[tool](goodPath)), ok(words))
  })

  test('nothing outside was touched', () => {
    expect(readFileSync(join(world.around, 'secret.txt'), 'utf8')).toBe(secret)
    expect(readFileSync(join(world.around, 'project-evil/x.txt'), 'utf8')).toBe(secret)
    expect(() => readFileSync(join(world.around, 'new.txt'))).toThrow('ENOENT')
  })
})

function furnish({ around, at, put }: World): Server {
  put('good.txt', 'one\n')
  put('file.txt', 'one\n')
  put('folder/x.txt', 'two\n')
  put('empty', '')
  put('binary', Buffer.from([0, 1, 2, 3, 255, 254, 0, 9]))
  put('huge', '')
  truncateSync(at('huge'), 300 * 1024 * 1024)
  execFileSync('mkfifo', [at('pipe')])
  for (const [target, name] of [
    ['/dev/zero', 'zero'],
    ['nowhere', 'dangling'],
    ['loop', 'loop'],
    ['../secret.txt', 'leak'],
    ['..', 'up'],
  ] as const)
    symlinkSync(target, at(name))
  writeFileSync(join(around, 'secret.txt'), secret)
  mkdirSync(join(around, 'project-evil'))
  writeFileSync(join(around, 'project-evil/x.txt'), secret)
  return createServer().listen(at('socket'))
}

function judge(answer: Answer, expected: Expected): void {
  expect(wrongIn(answer, expected)).toEqual([])
}

const nobody = 65534
describe.skipIf(!canRunAs(nobody))('as a user without rights (skipped unless root on Linux)', () => {
  let world: World
  beforeAll(() => {
    world = openWorld()
    world.put('closed/x.txt', 'one\n')
    world.put('private.txt', 'one\n')
    world.put('theirs.txt', 'one\n')
    world.put('mine.txt', 'one\n')
    chmodSync(world.around, 0o755)
    chmodSync(world.at('closed'), 0o700)
    chmodSync(world.at('private.txt'), 0o600)
    chownSync(world.root, nobody, nobody)
    chownSync(world.at('mine.txt'), nobody, nobody)
  })
  afterAll(() => world.close())

  test('every tool says that there is no permission, and for what', async () => {
    const calls: [Tool, string][] = [
      ['read_file', 'private.txt'],
      ['read_file', 'closed/x.txt'],
      ['write_file', 'theirs.txt'],
      ['write_file', 'closed/new.txt'],
      ['edit', 'theirs.txt'],
      ['multi_edit', 'private.txt'],
      ['list_files', 'closed'],
    ]
    const inputs = calls.map(([tool, path]) => [tool, inputOf[tool](path)])
    const answers = await asNobody([...inputs, ['glob', { pattern: '**' }], ['grep', { pattern: 'one' }]])
    for (const [i, [, path]] of calls.entries()) judge(answers[i]!, new RegExp(`no permission for "${path}"`))
    judge(answers[7]!, ok(/mine\.txt\nprivate\.txt\n(.*\n)*theirs\.txt\n\n\(1 file or folder could not be read\)$/))
    judge(answers[8]!, ok(/^mine\.txt\ntheirs\.txt\n\n\(2 files or folders could not be read\)$/))
    expect(['private.txt', 'theirs.txt', 'closed/x.txt'].map(world.held)).toEqual(['one\n', 'one\n', 'one\n'])
  })

  async function asNobody(calls: readonly unknown[]): Promise<Answer[]> {
    const { stdout, stderr } = await asProgram(
      world.around,
      `
      const { createProcessContext } = await import(${JSON.stringify(new URL('../../src/execution/process.ts', import.meta.url).href)})
      const { use, close } = kit.openWorld({ execution: createProcessContext({ cwd: ${JSON.stringify(world.root)} }) })
      const answers = []
      for (const [name, input] of ${JSON.stringify(calls)}) answers.push(await use(name, input))
      await close()
      console.log(JSON.stringify(answers))`,
      { uid: nobody },
    )
    expect(stderr).toBe('')
    return JSON.parse(stdout)
  }
})
