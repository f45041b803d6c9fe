import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest'
import { createGlobTool } from '../../src/tools/glob.ts'
import { createGrepTool } from '../../src/tools/grep.ts'
import { testInTurns } from '../soak.ts'
import { type Expected, ok, openWorld, type World, wrongIn } from './tools-kit.ts'

const test = testInTurns(2)

type Input = Record<string, unknown>

interface Wrong {
  /** What a row leaves out is taken from here. It is the next call, too, and must work. */
  readonly right: Input
  readonly words: Expected
  readonly rows: readonly (readonly [wrong: Input, expected: Expected])[]
}

const missing = (field: string): RegExp => new RegExp(`^Validation error: missing required property "${field}"$`)
const type = (field: string, type: string, got: string): RegExp =>
  new RegExp(`^Validation error: "${field}" must be ${type}, got ${got}$`)
const negative = (field: string): RegExp =>
  new RegExp(`^Validation error: "${field}" must .*not (be )?negative[,;] got -1$`)
const absurd = (field: string): RegExp => new RegExp(`^Validation error: "${field}" must be .*; got 1e\\+308$`)
const tooLarge = /the arguments could not be read: it holds a number that is too large for JSON/
const found = ok(/^file\.txt/)

/** Tool, then input, then what the model is told. */
const table: Readonly<Record<string, Wrong>> = {
  read_file: {
    right: { path: 'file.txt' },
    words: ok(/^1\tone/),
    rows: [
      [{ offset: -1 }, negative('offset')],
      [{ limit: -1 }, negative('limit')],
      [{ maxBytes: -1 }, negative('maxBytes')],
      [{ offset: 1.5 }, type('offset', 'integer', 'number 1.5')],
      [{ offset: 'two' }, type('offset', 'integer', 'string "two"')],
      [{ offset: [] }, type('offset', 'integer', 'array')],
      [{ offset: 1e9 }, /^Tool error: offset 1000000000 is beyond the end: "file\.txt" has 3 lines$/],
      [{ offset: 1e308 }, /offset 1e\+308 is beyond the end/],
      [{ offset: Number.POSITIVE_INFINITY }, tooLarge],
      [{ limit: 1e308, maxBytes: 1e308 }, ok(/^1\tone\n2\ttwo\n3\tthree$/)],
      [{ limit: 0, maxBytes: 0 }, ok(/^1\tone\n2\ttwo\n3\tthree$/)],
      [{ offset: 0, limit: null }, ok(/^1\tone/)],
      [{ maxBytes: 1 }, ok(/re-read with a larger maxBytes/)],
      [{ offset: '3' }, ok(/^3\tthree/)],
    ],
  },
  write_file: {
    right: { path: 'new.txt', content: 'x\n' },
    words: ok(/^Created new\.txt|^Updated new\.txt|^No change needed/),
    rows: [
      [{ content: undefined }, missing('content')],
      [{ content: null }, missing('content')],
      [{ content: { a: 1 } }, type('content', 'string', 'object')],
      [{ content: ['a'] }, type('content', 'string', 'array')],
      [{ content: '' }, ok(/^Updated new\.txt \(0 lines\)$|^Created/)],
    ],
  },
  edit: {
    right: { path: 'edited.txt', old_string: 'one', new_string: 'uno' },
    words: ok(/^Edited edited\.txt \(1 replacement, line 1\)$/),
    rows: [
      [{ old_string: '' }, /old_string is empty: give the text to replace, or use write_file/],
      [
        { old_string: 'nothing like it' },
        /old_string was not found\. Nothing in the file is like it; read the file again/,
      ],
      [
        { old_string: 't' },
        /old_string occurs 2 times \(lines 2, 3\): include surrounding lines of the one you mean, or set replace_all/,
      ],
      [{ new_string: 'one' }, /old_string and new_string are the same: there is nothing to change/],
      [{ old_string: 'z'.repeat(100_000) }, /old_string was not found/],
      [{ old_string: null }, missing('old_string')],
      [{ new_string: undefined }, missing('new_string')],
      [{ old_string: ['one'] }, type('old_string', 'string', 'array')],
      [{ replace_all: 'perhaps' }, type('replace_all', 'boolean', 'string "perhaps"')],
    ],
  },
  multi_edit: {
    right: { path: 'edited.txt', edits: [{ old_string: 'one', new_string: 'uno' }] },
    words: ok(/^Edited edited\.txt: 1 edit, 1 replacement$/),
    rows: [
      [{ edits: [] }, /"edits" is empty; give at least one edit/],
      [{ edits: 'x' }, type('edits', 'array', 'string "x"')],
      [{ edits: { old_string: 'one' } }, type('edits', 'array', 'object')],
      [{ edits: [null] }, /edit #1: expected an object, got null/],
      [{ edits: [5] }, /edit #1: expected an object, got number/],
      [{ edits: [{ old_string: 'one' }] }, /edit #1: missing required property "new_string"/],
      [
        {
          edits: [
            { old_string: 'one', new_string: 'uno' },
            { old_string: 'four', new_string: 'x' },
          ],
        },
        /^multi_edit error: edit #2 old_string was not found.*\nNone of the edits was made: "edited\.txt" is as it was/,
      ],
    ],
  },
  list_files: { right: {}, words: ok(/^file\.txt$/m), rows: [[{ path: 5 }, /there is no "5"/]] },
  glob: {
    right: { pattern: 'file.*' },
    words: ok(/^file\.txt$/),
    rows: [
      [{ pattern: '' }, /"pattern" is empty; "\*\*" finds all files/],
      [
        { pattern: '[' },
        /the pattern "\[" cannot be used: a "\[" is not closed; write "\\\[" for the character itself/,
      ],
      [{ pattern: '{a,b' }, /the pattern "\{a,b" cannot be used: a "\{" is not closed/],
      [{ pattern: 'a\\' }, /the pattern "a\\" cannot be used: a "\\" at the end escapes nothing/],
      [{ pattern: '../*' }, /cannot be used: it contains "\.\."; give the folder as "path"/],
      [{ pattern: '**/../../*' }, /cannot be used: it contains "\.\."/],
      [{ pattern: '/etc/*' }, /cannot be used: it begins with a slash; give the folder as "path"/],
      [{ pattern: '~/*' }, /outside the folders that tools may use/],
      [{ pattern: 'no-folder/*' }, ok(/^No files found: there is no folder "no-folder"$/)],
      [{ pattern: '*'.repeat(3000) }, ok(/^file\.txt$/m)],
      [{ pattern: ['*'] }, type('pattern', 'string', 'array')],
      [{ pattern: null }, missing('pattern')],
      [{ head_limit: -1 }, negative('head_limit')],
      [{ offset: -1 }, negative('offset')],
      [{ offset: 200_001 }, /"offset" is at most 200000; search for less instead/],
      [{ offset: 1e308 }, absurd('offset')],
      [{ offset: 5 }, ok(/^\(nothing at offset 5: there are 1 files in all\)$/)],
      [{ head_limit: 1e308 }, absurd('head_limit')],
      [{ head_limit: 1e15 }, found],
      [{ head_limit: 'many' }, type('head_limit', 'integer', 'string "many"')],
    ],
  },
  grep: {
    right: { pattern: 'three', glob: 'file.*' },
    words: ok(/^file\.txt$/),
    rows: [
      [{ pattern: '' }, /"pattern" is empty; say what to search for/],
      [{ pattern: '(' }, /"\(" is no valid pattern: unclosed group/],
      [{ pattern: '[a' }, /"\[a" is no valid pattern: unclosed character class/],
      [{ pattern: 'a{2' }, /"a\{2" is no valid pattern: unclosed counted repetition/],
      [{ pattern: '*' }, /"\*" is no valid pattern: repetition operator missing expression/],
      [{ pattern: '(?=x)' }, /"\(\?=x\)" is no valid pattern: look-around.* is not supported/],
      [{ pattern: '\\p{Nope}' }, /"\\p\{Nope\}" is no valid pattern: Unicode property not found/],
      [{ pattern: 'a\nb' }, /is not allowed; set "multiline" to true for matches over lines/],
      [{ pattern: 'a\0b' }, /"pattern" contains a NUL character; write \\x00 for it/],
      [{ pattern: 'x'.repeat(5000) }, ok(/^No matches found$/)],
      [{ pattern: { a: 1 } }, type('pattern', 'string', 'object')],
      [{ glob: '[' }, /the glob "\[" cannot be used: a "\[" is not closed/],
      [{ glob: '../*' }, /the glob "\.\.\/\*" cannot be used: it contains "\.\."/],
      [{ glob: 'no-folder/*' }, ok(/^No matches found$/)],
      [{ type: 'klingon' }, /there is no file type "klingon"; use glob instead, such as "\*\.klingon"/],
      [{ type: '--pre=evil' }, /there is no file type "--pre=evil"/],
      [{ output_mode: 'lines' }, /"output_mode" is one of content, files_with_matches, count, not "lines"/],
      [{ '-A': -1 }, negative('-A')],
      [{ '-C': 'some' }, type('-C', 'integer', 'string "some"')],
      [{ '-B': 9e15, output_mode: 'content' }, found],
      [{ head_limit: -1 }, negative('head_limit')],
      [{ '-A': 1e308, output_mode: 'content' }, absurd('-A')],
      [{ offset: 1e308 }, absurd('offset')],
      [{ '-i': 'perhaps' }, type('-i', 'boolean', 'string "perhaps"')],
    ],
  },
}

describe.each(Object.entries(table))('%s', (tool, { right, words, rows }) => {
  let world: World
  beforeAll(() => {
    world = openWorld({ behavior: { dedupReads: false } })
    world.put('file.txt', 'one\ntwo\nthree\n')
  })
  afterAll(() => world.close())
  beforeEach(() => world.put('edited.txt', 'one\ntwo\nthree\n'))

  test.each(rows.map(([wrong, expected]) => [shown(wrong), wrong, expected] as const))(
    '%s',
    async (_, wrong, expected) => {
      expect(wrongIn(await world.use(tool, { ...right, ...wrong }), expected)).toEqual([])
      expect(wrongIn(await world.use(tool, right), words)).toEqual([])
    },
  )
})

describe.each(['grep', 'glob'] as const)('%s without ripgrep says the same', (tool) => {
  const { right, rows } = table[tool]!
  test.each(rows.map(([wrong, expected]) => [shown(wrong), wrong, expected] as const))(
    '%s',
    async (_, wrong, expected) => {
      expect(wrongIn(await world.use(tool, { ...right, ...wrong }), expected)).toEqual([])
    },
  )

  let world: World
  beforeAll(() => {
    const [grep, glob] = [createGrepTool({ ripgrep: false }), createGlobTool({ ripgrep: false })]
    world = openWorld({ tools: { grep, glob } })
    world.put('file.txt', 'one\ntwo\nthree\n')
  })
  afterAll(() => world.close())
})

function shown(input: Input): string {
  const text = JSON.stringify(input) ?? ''
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
