import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { understand } from './requests.ts'

const intents = (prompt: string) => understand(prompt).map(({ intent }) => intent)

describe('one request, in various words', () => {
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
    ['replace a - b with a + b in add.js', replace('a - b', 'a + b', 'add.js')],
    ['replace the word foo with the text a b in x.txt', replace('foo', 'a b', 'x.txt')],
    ['replace string name with number name in a.ts', replace('string name', 'number name', 'a.ts')],
    ['read „my notes.txt“', read('my notes.txt')],
    ['can you run npm test?', { kind: 'run', command: 'npm test' }],
    ['run npm test, please.', { kind: 'run', command: 'npm test' }],
    ['run `ls a?`', { kind: 'run', command: 'ls a?' }],
    ["create x with the text 'y'", { kind: 'create', path: 'x', text: 'y\n' }],
    ['create a.txt containing the quick fox', { kind: 'create', path: 'a.txt', text: 'the quick fox\n' }],
    ["fix the failing test 'rm -rf build'", { kind: 'fix' }],
    ['the tests fail, please fix them', { kind: 'fix' }],
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
  'delete everything',
  'delete everything except a.txt',
  'delete all files but README.md',
  'delete a.txt if it is empty',
  'delete the contents of a.txt',
  'rm -rf /',
  'should i delete a.txt?',
  'move a.txt to b.txt unless it is there',
  'read everything except secrets.txt',
  'read it again',
  'run it again',
  'run',
  'create a test file for cart.js',
  'make the file a.js executable',
  'write a poem to my mother',
  'store it in the database',
  'commit the fix for the failing test',
  'revert the fix of the bug',
  'fix nothing, just run the tests',
  '…',
  '“',
])('a request that is not understood is not guessed at: %s', (prompt) => {
  expect(intents(prompt)).toEqual([undefined])
})

test.each([
  'replace it with b in a.txt',
  'replace line 5 with b in a.txt',
  'replace foo with bar in a.txt, but only in line 3',
  'delete line 5 from a.txt',
  'remove the function foo from a.js',
  'add error handling to src/a.ts',
  'append it to a.txt',
  'append "x" to every file',
  'put it in a.txt',
  'write tests for cart.js in cart.test.js',
  'create server.js with an express app',
  'create a.txt with "x" and b.txt with "y"',
  'run the linter',
  'run my program',
  'run npm test and tell me what fails',
  'run "ls -la" in src',
])('a text that is only described is asked for: %s', (prompt) => {
  expect(intents(prompt)).toEqual([expect.objectContaining({ kind: 'incomplete' })])
})

describe('several requests', () => {
  test.each<[string, string[]]>([
    ['list the files then read a.txt', ['list', 'read']],
    ['read a.txt, and then read b.txt; run pwd\nhelp', ['read', 'read', 'run', 'help']],
    ['1. list the files\n2. read a.txt', ['list', 'read']],
    ['list the files and read a.txt', ['list', 'read']],
    ['replace a with b in a.txt and run the tests', ['replace', 'test']],
    ['run npm test and delete a.txt', ['run', 'run']],
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

test('nothing made of words that it knows makes it fail', () => {
  const words =
    `run delete replace create append add write move copy read list find search count fix test make fetch with
    in to from and then the a it a.txt src "x y" 'z' \` \`\`\` ; : , ? $ not if all every line 5 named files of`.split(
      / +/,
    )
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words, '\n'), { maxLength: 8 }), (said) => {
      expect(Array.isArray(understand(said.join(' ')))).toBe(true)
    }),
    { numRuns: 3000 },
  )
})
