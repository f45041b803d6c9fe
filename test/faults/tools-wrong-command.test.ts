import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSpawnTool } from '../../src/index.ts'
import { type Expected, everyTool, ok, openWorld, type World, wrongIn } from './tools-kit.ts'

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
const unknown = /^Unknown tool: Read_File, did you mean "read_file"/

/** Tool, then input, then what the model is told. */
const table: Readonly<Record<string, Wrong>> = {
  shell: {
    right: { command: 'echo fine' },
    words: ok(/^fine\n\(exit 0, \d+ms\)$/),
    rows: [
      [{ command: '' }, /the command is empty; say what to run/],
      [{ command: ' \n\t ' }, /the command is empty/],
      [{ command: 'echo a\0b' }, /the command holds a NUL character, which no shell can read/],
      [{ command: 'no-such-program' }, /no-such-program: command not found\n\(exit 127, \d+ms\)$/],
      [{ command: '(' }, /syntax error.*\n\(exit 2, \d+ms\)$/],
      [{ command: 'exit 3' }, /^\(no output\)\n\(exit 3, \d+ms\)$/],
      [{ command: 'kill -9 $$' }, /\(killed by SIGKILL, \d+ms\)$/],
      [
        { command: 'x'.repeat(200_000) },
        /The command has 200000 bytes, at most 100000 are possible; write long text to a file/,
      ],
      [{ command: ['ls'] }, type('command', 'string', 'array')],
      [{ command: null }, missing('command')],
      [{ cwd: 'no-folder' }, /The working folder .*project\/no-folder does not exist.*create it, or use another one$/],
      [{ cwd: 'file.txt' }, /The working folder .*project\/file\.txt is not a folder; use another one$/],
      [{ cwd: {} }, type('cwd', 'string', 'object')],
      [{ timeout: 'long' }, type('timeout', 'integer', 'string "long"')],
      [{ timeout: 1.5 }, type('timeout', 'integer', 'number 1.5')],
      [{ timeout: -1 }, ok(/^fine/)],
      [{ timeout: 1e308 }, ok(/^fine/)],
      [{ command: 'sleep 20', timeout: 1 }, /\(timed out after 1ms, \d+ms\)\n.*timeout is in milliseconds/],
      [{ background: 'perhaps' }, type('background', 'boolean', 'string "perhaps"')],
      [{ command: 'exit 4', background: true }, /\(exit 4, \d+ms\)$/],
    ],
  },
  shell_output: {
    right: {},
    words: ok(/^no job was started here$/),
    rows: [
      [{ job: 7 }, /there is no job 7; no job was started here/],
      [{ job: -1 }, /there is no job -1; no job/],
      [{ job: 1e308 }, /there is no job 1e\+308; no job/],
      [{ job: 'first' }, type('job', 'integer', 'string "first"')],
      [{ wait: 'long' }, type('wait', 'integer', 'string "long"')],
    ],
  },
  shell_stop: {
    right: { job: 7 },
    words: /there is no job 7; no job was started here/,
    rows: [
      [{ job: undefined }, missing('job')],
      [{ job: 1.5 }, type('job', 'integer', 'number 1.5')],
    ],
  },
  todowrite: {
    right: { todos: [{ content: 'work', status: 'pending' }] },
    words: ok(/^Noted: 0 of 1 done\.$/),
    rows: [
      [{ todos: null }, missing('todos')],
      [{ todos: 'work' }, type('todos', 'array', 'string "work"')],
      [{ todos: [null] }, /todos\[0\]\.content must say what is to be done/],
      [{ todos: [{ content: ' ' }] }, /todos\[0\]\.content must say what is to be done/],
      [
        { todos: [{ content: 'x', status: 'soon' }] },
        /todos\[0\]\.status must be one of pending, in_progress, completed, got "soon"/,
      ],
      [{ todos: [{ content: 'x'.repeat(501) }] }, /todos\[0\]\.content has 501 characters; at most 500 fit/],
      [{ todos: Array(101).fill('x') }, /101 todos are too many; write at most 100, in bigger steps/],
    ],
  },
  todoread: {
    right: {},
    words: ok(/^\(the list is empty\)$/),
    rows: [[{ what: ['ever'] }, ok(/^\(the list is empty\)$/)]],
  },
  web_fetch: {
    right: { url: 'http://127.0.0.1/' },
    words: /127\.0\.0\.1 is not on the public internet/,
    rows: [
      [{ url: '' }, /"" is not a URL; give a whole one, such as https:\/\/example\.com\/page/],
      [{ url: 'example.com' }, /"example\.com" is not a URL/],
      [{ url: 'http://' }, /"http:\/\/" is not a URL/],
      [{ url: 'http://localhost:99999/' }, /"http:\/\/localhost:99999\/" is not a URL/],
      [{ url: 'h'.repeat(5000) }, /"h{200}" is not a URL/],
      [{ url: 'ftp://example.com/' }, /only http and https can be fetched, not ftp:/],
      [{ url: 'file:///etc/passwd' }, /only http and https can be fetched, not file:/],
      [{ url: 'javascript:alert(1)' }, /not javascript:/],
      [{ url: 'http://a\0b/' }, /the URL has a control character or a backslash in it; write it without/],
      [
        { url: 'https://me:secret@example.com/' },
        /the URL has a user name or password before example\.com; leave it out$/,
      ],
      [{ url: 'http://[::1]/' }, /::1 is not on the public internet/],
      [{ url: 'http://0x7f.1/' }, /127\.0\.0\.1 is not on the public internet/],
      [{ url: 'http://169.254.169.254/' }, /169\.254\.169\.254 is not on the public internet/],
      [{ url: 'http://localhost/' }, /localhost is not on the public internet/],
      [{ url: 5 }, /"5" is not a URL/],
      [{ url: undefined }, missing('url')],
      [{ offset: 'far' }, type('offset', 'integer', 'string "far"')],
      [{ extractText: 'perhaps' }, type('extractText', 'boolean', 'string "perhaps"')],
    ],
  },
  spawn: {
    right: { task: 'look', preset: 'nobody' },
    words: /there is no preset "nobody"; choose reader/,
    rows: [
      [{ task: null }, missing('task')],
      [{ task: ['look'] }, type('task', 'string', 'array')],
    ],
  },
  ask_user: {
    right: { question: 'Why?' },
    words: ok(/^There is no user to answer\. Go on with the assumption that fits best/),
    rows: [
      [{ question: ' ' }, /"question" is empty; say what you want to know/],
      [{ options: 'yes' }, type('options', 'array', 'string "yes"')],
      [{ options: [{}] }, /options\[0\] needs a "label", a short text to choose/],
      [{ options: Array(21).fill('a') }, /21 options are too many; offer at most 20/],
    ],
  },
  present_plan: {
    right: { plan: '1. Go' },
    words: ok(/^The plan could not be shown: there is no user to approve it/),
    rows: [[{ plan: '' }, /"plan" is empty; write down the steps/]],
  },
  Read_File: { right: {}, words: unknown, rows: [[{ path: 'file.txt' }, unknown]] },
}

describe.each(Object.entries(table))('%s', (tool, { right, words, rows }) => {
  let world: World
  beforeAll(() => {
    world = openWorld({ tools: { ...everyTool, spawn: createSpawnTool({ presets: { reader: {} } }) } })
    world.put('file.txt', 'one\ntwo\nthree\n')
  })
  afterAll(() => world.close())
  test.each(rows.map(([wrong, expected]) => [shown(wrong), wrong, expected] as const))(
    '%s',
    async (_, wrong, expected) => {
      expect(wrongIn(await world.use(tool, { ...right, ...wrong }), expected)).toEqual([])
      expect(wrongIn(await world.use(tool, right), words)).toEqual([])
    },
  )
})

function shown(input: Input): string {
  const text = JSON.stringify(input) ?? ''
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
