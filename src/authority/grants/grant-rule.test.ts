import { expect, test } from 'vitest'
import { readShell } from '../../shell/read-shell.ts'
import { shellFacts } from '../../shell/shell-facts.ts'
import { type JudgedCall, shellCall } from '../judged-call.ts'
import { isCoveredByRule, proposedRule, readGrantRule } from './grant-rule.ts'

const location = { root: '/w/project', home: '/home/me', isTrusted: true }
const line = (text: string): JudgedCall => shellCall(text, shellFacts(readShell(text), location))
const write = (...paths: string[]): JudgedCall => ({
  ...{ tool: 'write_file', origin: { layer: 'bundled' }, gated: true, input: {}, key: 'k', digest: 'd' },
  effects: paths.map((target) => ({ effect: 'fs.write', target, ...(target.startsWith('/') && { isOutside: true }) })),
})

test.each([
  ['git commit -m "a b"', 'shell:git commit *', 'every `git commit *` in this project (and any further words)'],
  ['touch a && touch b', 'shell:touch *', 'every `touch *` in this project (and any further words)'],
  ['npm test', 'shell:npm test', 'exactly `npm test` in this project'],
  ['make', 'shell:make', 'exactly `make` in this project'],
])('UI108 the rule that is proposed for %s is %s: %s', (text, rule, words) => {
  const proposed = proposedRule(line(text))!
  expect(proposed.rule).toBe(rule)
  expect(readGrantRule(rule, proposed)).toBe(words)
})

test('UI108 the words of a rule for commands say whether further words are covered', () => {
  const proposed = proposedRule(line('touch build/x'))!
  expect(readGrantRule('shell:touch build/*', proposed)).toBe(
    'every `touch build/*` in this project (no further words)',
  )
})

test('UI108 the rule that is proposed for a file is for its folder, without those below', () => {
  const proposed = proposedRule(write('src/cart.js'))!
  expect(proposed.rule).toBe('write_file:src/*')
  expect(readGrantRule(proposed.rule, proposed)).toBe('write_file of `src/*` in this project (not in folders below)')
  expect(proposedRule(write('a.txt'))?.rule).toBe('write_file:*')
  expect(proposedRule(write('my-app/a b.ts'))?.rule).toBe('write_file:my-app/*')
})

test.each([
  'curl https://example.org', // another machine
  'touch ../out.txt', // outside
  'touch "$NAME"', // not known
  'LD_PRELOAD=x.so make', // more than its words
  'cd src && make', // elsewhere
  'make > log.txt', // a redirection
  'bash < a.sh',
  'make 2>&1',
  'make; true > log.txt',
  'frobnicate "*"', // its star would stand for more than this call
  'make build/*',
  'env make',
  'sh -c make',
])('UI108 no rule is proposed for %s', (text) => {
  expect(proposedRule(line(text))).toBeUndefined()
})

test('UI108 no rule is proposed for a line that starts in another folder, and no kept rule covers it', () => {
  const call = line('make')
  expect(proposedRule({ ...call, startsElsewhere: true })).toBeUndefined()
  expect(isCoveredByRule('shell:make', call)).toBe(true)
  expect(isCoveredByRule('shell:make', { ...call, startsElsewhere: true })).toBe(false)
})

test('UI108 no rule is proposed for a file in a folder whose name has a star', () => {
  expect(proposedRule(write('a*/x.ts'))).toBeUndefined()
  expect(proposedRule(write('a/x*.ts'))?.rule).toBe('write_file:a/*')
})

test('UI108 no rule is proposed for files outside, nor for calls of servers', () => {
  expect(proposedRule(write('/etc/hosts'))).toBeUndefined()
  expect(proposedRule({ ...write('a'), origin: { layer: 'mcp', path: 'files' } })).toBeUndefined()
})

test.each([
  ['', 'is empty'],
  ['shell:', 'has nothing after the colon'],
  ['git commit *', 'has a * in the name of a tool'],
  ['git commit', 'write "shell:git commit"'],
  ['Bash(git commit:*)', 'write "shell:git commit"'],
  ['shell', 'write after "shell:" what it may be used for'],
  ['shell:*', 'names no program; write it out, as in "shell:git *"'],
  ['shell:g*', 'names no program'],
  ['shell: *', 'names no program'],
  ['shell: \u00a0 g* *', 'names no program'],
  ['shell: ', 'does not cover'],
  ['write_file:*', 'begin with "shell:"'],
  ['fs.write:*', 'begin with "shell:"'],
  ['shell:git push *', 'does not cover `git commit -m x`'],
  ['shell:git commit', 'does not cover `git commit -m x`'],
])('UI108 the rule "%s" for git commit -m x is refused: %s', (rule, problem) => {
  expect(() => readGrantRule(rule, proposedRule(line('git commit -m x'))!)).toThrow(problem)
})

test.each(['/etc/*', ' /etc/*', '~/x', ' ~/x', '../*', 'src/../../x'])(
  'UI108 a rule for files does not leave the project: %s',
  (pattern) => {
    expect(() => readGrantRule(`write_file:${pattern}`, proposedRule(write('src/a.ts'))!)).toThrow('leaves the project')
  },
)

test.each([
  ['shell:git commit *', 'git commit -m x', true],
  ['shell:git commit *', 'git commit', false],
  ['shell:git commit *', 'git push origin', false],
  ['shell:git commit *', 'git commit -m x && rm -rf src', false],
  ['shell:git commit *', 'git commit -m x > out', false],
  ['shell:git commit *', 'git commit -m x; true > src/app.js', false],
  ['shell:git commit *', 'git commit -m x; > src/app.js', false],
  ['shell:git commit *', 'git commit -m x; true', true],
  ['shell:bash', 'bash < evil.sh', false],
  ['shell: git commit *', 'git commit -m x', true],
  ['shell: *', 'rm -rf src', false],
  ['shell:git commit *', 'git commit -m "$(rm -rf src)"', false],
  ['shell:git commit *', 'GIT_DIR=/x git commit -m x', false],
  ['shell:git *', 'git status && git commit -m x', true],
  ['shell:npm run *', 'npm run build', true],
  ['shell:npm run *', 'npm install x', false],
  ['shell:touch *', 'touch ../x', false],
  ['nonsense (', 'touch x', false],
  ['shell:touch build/*', 'touch build/deep/x', true],
  ['shell:touch build/*', 'touch build/../src/x', false],
  ['shell:touch build/*', 'touch "build/.."/src/x', false],
  ['shell:make build/*', 'make build/.*/src/x', false],
  ['shell:touch build/*', 'touch build/x src/y', false],
  ['shell:touch build/*', 'touch "build/x y"', true],
  ['shell:touch build/* *', 'touch build/x src/y', true],
  ['shell:touch build/* *', 'touch build/x src/../y', false],
  ['shell:touch * last', 'touch a last', true],
  ['shell:touch * last', 'touch a b last', false],
  ['shell:make --out=*', 'make --out=../x', false],
  ['shell:make build/../x', 'make build/../x', true],
  ['shell:touch *', 'touch ./... main..', true],
])('UI108 the kept rule "%s" covers %s: %s', (rule, text, expected) => {
  expect(isCoveredByRule(rule, line(text))).toBe(expected)
})

test.each([
  ['write_file:src/*', ['src/a.ts'], true],
  ['write_file:src/*', ['src/deep/a.ts'], false],
  ['write_file:src/**', ['src/deep/a.ts'], true],
  ['write_file:src/*.ts', ['src/a.ts', 'src/b.js'], false],
  ['write_file:src/a.ts', ['src/a-ts'], false],
  ['write_file:my-docs/*: [a] (b) 漢.md', ['my-docs/x: [a] (b) 漢.md'], true],
  ['edit:src/*', ['src/a.ts'], false],
  ['write_file:my-app/über uns/@x/*', ['my-app/über uns/@x/a.ts'], true],
  ['write_file:a+(b)[c]{d}^$|?\\/*.ts', ['a+(b)[c]{d}^$|?\\/x.ts'], true],
])('UI108 the kept rule "%s" covers the files %j: %s', (rule, paths, expected) => {
  expect(isCoveredByRule(rule, write(...paths))).toBe(expected)
})
