import { expect, test } from 'vitest'
import { createAgent } from '../../create-agent.ts'
import { coding } from '../../presets/index.ts'
import { memoryExecution } from '../../testing/index.ts'
import { mutationsOf } from './mutations.ts'
import { offline } from './offline.ts'
import { importsOf, readTestOutput } from './test-output.ts'

const source = `// adds a - b
export function subtract(a, b) {
  return a - b
}

export function add(a, b) {
  return a - b
}
`
const testFile = `import { test } from 'node:test'
import { add } from '../src/sum.js'

test('adds', () => {
  assert.equal(add(1, 2), 3)
})
`
const failing = `✖ adds (1ms)
ℹ fail 1

test at test/sum.test.js:4:1
✖ adds (1ms)
  AssertionError: -1 !== 3
      at TestContext.<anonymous> (file:///project/test/sum.test.js:5:10)
      at Test.run (node:internal/test_runner/test:1402:25)
`

/** A project whose tests pass when its file is as wanted. */
function project(isGood: (text: string) => boolean, files: Record<string, string> = {}) {
  const runs: string[] = []
  const execution = memoryExecution({
    files: { 'src/sum.js': source, 'test/sum.test.js': testFile, 'package.json': '{"scripts":{"test":"x"}}', ...files },
    exec(command) {
      if (!command.includes('test')) return { exitCode: 127 }
      runs.push(command)
      return isGood(execution.files.get('/project/src/sum.js')!)
        ? { stdout: 'ℹ fail 0\n' }
        : { stdout: failing, exitCode: 1 }
    },
  })
  const agent = createAgent({ ...coding, provider: offline(), execution })
  const text = () => execution.files.get('/project/src/sum.js')
  return { agent, runs, text }
}

const repaired = source.replace(/(function add.*\n {2}return a) - b/, '$1 + b')

test('a wrong operator in the function that the failing test calls is found and repaired', async () => {
  const { agent, runs, text } = project((now) => now === repaired)
  const stats = await agent.run({ prompt: 'fix the failing test' })
  expect(stats.text).toContain('The tests pass now. I changed `-` to `+` in line 7 of `src/sum.js` (1 try)')
  expect(text()).toBe(repaired)
  expect(runs).toEqual(['npm test', 'npm test'])
  await agent.destroy()
})

test('a change that does not help is undone, and after six attempts it gives up with the files as they were', async () => {
  const many = `export function add(a, b) {\n${Array.from({ length: 9 }, (_, i) => `  a = a - ${i}`).join('\n')}\n}\n`
  const { agent, runs, text } = project(() => false, { 'src/sum.js': many })
  const { text: said } = await agent.run({ prompt: 'make the tests pass with `node --test`' })
  expect(said).toContain('I tried 6 small changes')
  expect(said).toContain('The files are as they were.')
  expect(text()).toBe(many)
  expect(runs).toEqual(Array(7).fill('node --test'))
  await agent.destroy()
})

test('a change that repairs one of two tests is kept, and the other one is repaired after it', async () => {
  const both = source.replace('return a - b', 'return a + b')
  const good = both.replace('return a + b', 'return a - b').replace(/(function add.*\n {2}return a) - b/, '$1 + b')
  const execution = memoryExecution({
    files: { 'src/sum.js': both, 'test/sum.test.js': `${testFile}subtract(3, 2)\n` },
    exec(command) {
      if (!command.includes('test')) return { exitCode: 127 }
      const [subtract, add] = execution.files.get('/project/src/sum.js')!.match(/return a . b/g)!
      const passed = Number(subtract === 'return a - b') + Number(add === 'return a + b')
      const places = 'test at test/sum.test.js:7:1\ntest at test/sum.test.js:5:1\n'
      return { stdout: `ℹ pass ${passed}\nℹ fail ${2 - passed}\n${places}`, exitCode: passed === 2 ? 0 : 1 }
    },
  })
  const agent = createAgent({ ...coding, provider: offline(), execution })
  const { text } = await agent.run({ prompt: 'fix the failing tests with `node --test`' })
  expect(text).toMatch(/^The tests pass now\. I changed .* line \d of `src\/sum\.js`, and .* line \d of/)
  expect(execution.files.get('/project/src/sum.js')).toBe(good)
  await agent.destroy()
})

test('tests that pass are left alone', async () => {
  const { agent, runs, text } = project(() => true)
  expect((await agent.run({ prompt: 'fix the failing tests' })).text).toContain('nothing to fix')
  expect([runs.length, text()]).toEqual([1, source])
  await agent.destroy()
})

test('a change that is not allowed ends it', async () => {
  const { agent, runs, text } = project(() => false)
  agent.hooks.hook('tool:gate', (gate) => {
    if (gate.name === 'edit') Object.assign(gate, { block: true, reason: 'hands off' })
  })
  expect((await agent.run({ prompt: 'fix the failing test' })).text).toContain(
    'I was not allowed to change `src/sum.js`: hands off',
  )
  expect([runs.length, text()]).toEqual([1, source])
  await agent.destroy()
})

test('texts, comments and imports are never changed', () => {
  const lines = [
    `import a from 'x - y'`,
    '// a - b',
    `const s = "a - b" + 'c'`,
    ' * a < b',
    '/* a < b',
    'c < d */',
    'isTrue(untrue)',
    'f(-1, <T>x, a => b, i++)',
  ]
  expect(mutationsOf(lines, new Set()).map(({ line, after }) => [line, after])).toEqual([
    [2, `const s = "a - b" - 'c'`],
  ])
})

test('operators are found with and without blanks around them', () => {
  const lines = ['return a-b', 'if (a <= b) c = true', 'i < xs.length - 1']
  expect(mutationsOf(lines, new Set([1])).map(({ after }) => after)).toEqual([
    'if (a < b) c = true',
    'if (a <= b) c = false',
    'return a+b',
    'i <= xs.length - 1',
    'i < xs.length + 1',
    'i < xs.length',
  ])
})

test('what test runners print is read: places, how many failed, and where the project is', () => {
  expect(readTestOutput(failing)).toEqual({
    failed: 1,
    positions: [
      { path: 'test/sum.test.js', line: 4 },
      { path: 'test/sum.test.js', line: 5 },
    ],
  })
  const vitest =
    ' FAIL  src/a.test.ts > adds\n ❯ src/a.test.ts:6:10\n ❯ node_modules/x/y.js:1:1\n      Tests  2 failed | 3 passed (5)'
  expect(readTestOutput(vitest)).toEqual({ failed: 2, passed: 3, positions: [{ path: 'src/a.test.ts', line: 6 }] })
  const tap = "not ok 1 - adds\n  location: '/desk/shop/test/a.test.js:5:1'\n# fail 1"
  expect(readTestOutput(tap, ['/desk/shop']).positions).toEqual([{ path: 'test/a.test.js', line: 5 }])
  expect(importsOf('test/a.test.js', `import '../src/a.js'\nconst b = require("./b")`)).toEqual(['src/a.js', 'test/b'])
  expect(readTestOutput('a/'.repeat(50_000)).positions).toEqual([])
})
