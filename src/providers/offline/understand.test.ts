import { describe, expect, test } from 'vitest'
import { understand } from './understand.ts'

const intents = (prompt: string) => understand(prompt).map(({ intent }) => intent)

describe('one request, in whatever words', () => {
  const list = (path: string) => ({ kind: 'list', path })
  const read = (path: string) => ({ kind: 'read', path })
  const search = (text: string, path = '.') => ({ kind: 'search', text, path })
  const replace = (from: string, to: string, path: string, isAll = false) => ({
    kind: 'replace',
    from,
    to,
    path,
    isAll,
  })
  test.each<[string, object]>([
    ['list files', list('.')],
    ['Please list all files in the src folder.', list('src')],
    ['what files are there?', list('.')],
    ['Can you show me the files in `test/stories`?', list('test/stories')],
    ["can you tell me what's in src/", list('src/')],
    ['read package.json', read('package.json')],
    ['Could you please open "my notes.txt"?', read('my notes.txt')],
    ['what does package.json say?', read('package.json')],
    ['show lines 10-20 of src/a.ts', { ...read('src/a.ts'), lines: { from: 10, count: 11 } }],
    ['explain src/a.ts', { ...read('src/a.ts'), isExplained: true }],
    ['search for TODO', search('TODO')],
    ['search for fix test', search('fix test')],
    ['find "hello world" in src', search('hello world', 'src')],
    ['look for createAgent in the src folder', search('createAgent', 'src')],
    ['where is createAgent defined?', search('createAgent')],
    ['find all files containing foo', search('foo')],
    ['search src for x', search('x', 'src')],
    ['find files named *.test.ts', { kind: 'files', pattern: '**/*.test.ts', path: '.' }],
    ['list all .ts files in src', { kind: 'files', pattern: '**/*.ts', path: 'src' }],
    ['run npm test', { kind: 'run', command: 'npm test' }],
    ["i'd like you to run npm test.", { kind: 'run', command: 'npm test' }],
    ['execute the command "git log"', { kind: 'run', command: 'git log' }],
    ['$ pwd', { kind: 'run', command: 'pwd' }],
    ['git log -3', { kind: 'run', command: 'git log -3' }],
    ['run the tests', { kind: 'test' }],
    ['replace foo with bar in a.txt', replace('foo', 'bar', 'a.txt')],
    ['Replace "a b" with \'c d\' in `src/x.ts`, please', replace('a b', 'c d', 'src/x.ts')],
    ['in a.txt, change foo to bar', replace('foo', 'bar', 'a.txt')],
    ['replace "a in b" with "c with d" in d.txt', replace('a in b', 'c with d', 'd.txt')],
    ['rename foo to bar in src/a.ts', replace('foo', 'bar', 'src/a.ts', true)],
    ['rename a.txt to b.txt', { kind: 'run', command: 'mv -n -- a.txt b.txt' }],
    ['delete "my file.txt"', { kind: 'run', command: "rm -- 'my file.txt'" }],
    ['create notes.txt with hello world', { kind: 'create', path: 'notes.txt', text: 'hello world\n' }],
    ['write "hello" to a.txt', { kind: 'create', path: 'a.txt', text: 'hello\n' }],
    ['create an empty file x.md', { kind: 'create', path: 'x.md', text: '' }],
    [
      'create a.js with ```js\nlet a = 1; then()\nb\n```',
      { kind: 'create', path: 'a.js', text: 'let a = 1; then()\nb\n' },
    ],
    ['append "bye" to notes.txt', { kind: 'append', path: 'notes.txt', text: 'bye' }],
    ['how many lines does README.md have?', { kind: 'count', path: 'README.md' }],
    ['show me what changed', { kind: 'changes', isDiff: false }],
    ['show me the diff', { kind: 'changes', isDiff: true }],
    ['explain what you can do', { kind: 'help' }],
    ['thanks!', { kind: 'greeting' }],
    ['summarise what you did', { kind: 'summary' }],
    ['Please find and fix the failing tests', { kind: 'fix' }],
    ['find the failing test and fix it', { kind: 'fix' }],
    ['fix the failing test with `node --test`', { kind: 'fix', command: 'node --test' }],
    ['remember to update the changelog', { kind: 'note', text: 'update the changelog' }],
    ['show the todo list', { kind: 'notes' }],
    ['fetch https://example.com/a', { kind: 'fetch', url: 'https://example.com/a' }],
  ])('%s', (prompt, intent) => {
    expect(intents(prompt)).toEqual([intent])
  })
})

test.each([
  'write a poem',
  "don't read a.txt",
  'do not run rm -rf /',
  'please do not fix the failing test',
  'how would you fix the bug?',
  'can you not delete a.txt',
  'what is the weather?',
  'make it faster',
  'run it',
  '…',
  '“',
])('what is not a request that is known is not guessed at: %s', (prompt) => {
  expect(intents(prompt)).toEqual([undefined])
})

describe('several requests', () => {
  test.each<[string, string[]]>([
    ['list the files then read a.txt', ['list', 'read']],
    ['read a.txt, and then read b.txt; run pwd\nhelp', ['read', 'read', 'run', 'help']],
    ['1. list the files\n2. read a.txt', ['list', 'read']],
    ['list the files and read a.txt', ['list', 'read']],
    ['search for "a and read b"', ['search']],
    ['', []],
  ])('%j', (prompt, kinds) => {
    expect(intents(prompt).map((intent) => intent?.kind)).toEqual(kinds)
  })

  test('a shell line and a text of several lines stay as they were written', () => {
    expect(intents('run if true; then echo x; fi')).toEqual([{ kind: 'run', command: 'if true; then echo x; fi' }])
    expect(intents('run cd x; ls')).toEqual([{ kind: 'run', command: 'cd x; ls' }])
    expect(intents('create a.txt with one\n two\n\nthree')).toEqual([
      { kind: 'create', path: 'a.txt', text: 'one\n two\n\nthree\n' },
    ])
  })
})
