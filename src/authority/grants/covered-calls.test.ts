import { describe, expect, test } from 'vitest'
import { digestOfJson } from '../../platform/canonical-json.ts'
import { readShell } from '../../shell/read-shell.ts'
import { shellFacts } from '../../shell/shell-facts.ts'
import { type EffectFact, type JudgedCall, shellCall } from '../judged-call.ts'
import { shellKey } from '../shell-key.ts'
import { coveredCalls } from './covered-calls.ts'

const location = { root: '/w/project', home: '/home/me', isTrusted: true }

function line(command: string, more: readonly EffectFact[] = []): JudgedCall {
  const reading = readShell(command)
  const call = shellCall(command, shellFacts(reading, location))
  const key = shellKey(reading, location, command)
  return { ...call, key, effects: [...call.effects, ...more], digest: digestOfJson(command) }
}

function called(tool: string, more: Partial<JudgedCall>): JudgedCall {
  return {
    ...{ tool, origin: { layer: 'host' }, gated: true, input: {}, key: tool, effects: [], digest: 'D' },
    ...more,
  }
}

const file = (tool: string, ...effects: EffectFact[]): JudgedCall => called(tool, { key: 'src', effects })
const wrote = (target: string, more: Partial<EffectFact> = {}): EffectFact => ({ effect: 'fs.write', target, ...more })

describe('an approval of a shell line covers', () => {
  test('T03 every line of its kind: touch f0.txt and touch f1.txt', () => {
    expect(coveredCalls(line('touch f0.txt'))).toEqual(coveredCalls(line('touch f1.txt')))
    expect(coveredCalls(line('touch f0.txt')).words).toBe('every `touch` in this project')
  })

  test.each([
    ['bash build.sh', 'bash build.sh --force'],
    ['python3 a.py', 'python3 b.py'],
    ['frobnicate a', 'frobnicate b'],
    ['npm test', 'npm run build'],
    ['touch ../x', 'touch ../y'],
    ['echo $A', 'echo $B'],
  ])('T03 exactly %s, and not %s', (one, other) => {
    expect(coveredCalls(line(one)).words).toBe(`exactly \`${one}\` in this project`)
    expect(coveredCalls(line(one)).key).toBe(coveredCalls(line(one)).key)
    expect(coveredCalls(line(one)).key).not.toBe(coveredCalls(line(other)).key)
  })

  test('S09 the same line only while its links lead to the same files outside', () => {
    const linked = (target: string): EffectFact => ({ effect: 'fs.read', target, isOutside: true, isLinked: true })
    const keys = [line('make'), line('make', [linked('/etc/a')]), line('make', [linked('/etc/b')])].map(
      (call) => coveredCalls(call).key,
    )
    expect(new Set(keys).size).toBe(3)
  })

  test('S09 a line that could not be read, in the same directory only', () => {
    const call = line('echo $A')
    expect(coveredCalls({ ...call, digest: 'elsewhere' }).key).not.toBe(coveredCalls(call).key)
  })

  test('a long line is named by its beginning, without characters that cannot be seen', () => {
    const { words } = coveredCalls(line(`frobnicate \u202e ${'x'.repeat(500)}`))
    expect(words).toMatch(/^exactly what begins with `frobnicate \\u202e x+` in this project$/)
    expect(words.length).toBeLessThan(150)
  })
})

test('T03 calls that one approval covers have the same words', () => {
  const programs = [
    'touch a',
    'touch b',
    'mkdir a',
    'cat a',
    'git commit -m x',
    'git commit -m y',
    'git add a',
    'make',
    'npm test',
  ]
  const lines = [
    ...programs,
    'make all',
    'bash a.sh',
    'echo $A',
    'touch ../a',
    'cat /etc/hosts',
    'cat a > b',
    'A=1 make',
  ]
  const words = new Map<string, string>()
  for (const call of lines.map((one) => line(one))) {
    const covered = coveredCalls(call)
    expect(words.get(covered.key) ?? covered.words).toBe(covered.words)
    words.set(covered.key, covered.words)
  }
  expect(words.size).toBe(lines.length - 2) // touch and git commit
  expect(new Set(words.values()).size).toBe(words.size)
})

describe('an approval of another call covers', () => {
  test('T03 every call of the tool of a server, whatever its arguments', () => {
    const search = (input: JudgedCall['input']): JudgedCall =>
      called('mcp_github_search', {
        ...{ input, key: `sha256:${digestOfJson(input)}`, effects: [{ effect: 'mcp:github.search' }] },
        origin: { layer: 'mcp', path: 'github', digest: 'd' },
      })
    expect(coveredCalls(search({ q: 'a' }))).toEqual(coveredCalls(search({ q: 'b' })))
    expect(coveredCalls(search({})).words).toBe('every call of search of the server github in this project')
  })

  test.each([
    [file('write_file', wrote('src/a.ts')), 'write_file in src of this project (not in folders below it)'],
    [file('write_file', wrote('a.ts')), 'write_file in the top folder of this project (not in folders below it)'],
    [
      file('edit', { effect: 'fs.read', target: 'src/a.ts' }, wrote('src/a.ts')),
      'edit in src of this project (not in folders below it)',
    ],
    [
      file('write_file', wrote('/etc/x', { isOutside: true })),
      'write_file in /etc, outside of this project (not in folders below it)',
    ],
    [
      file('grep', { effect: 'fs.read', target: '/etc', isOutside: true, isDeep: true }),
      'grep in /etc, outside of this project (and all folders below it)',
    ],
  ])('T03 a folder of files', (call, words) => {
    expect(coveredCalls(call).words).toBe(words)
  })

  test('S09 files of the same folder, however the model spelled it, and not where links lead elsewhere', () => {
    const key = (...effects: EffectFact[]): string => coveredCalls(file('write_file', ...effects)).key
    expect(key(wrote('src/a.ts'))).toBe(key(wrote('src/b.ts')))
    expect(coveredCalls({ ...file('write_file', wrote('src/a.ts')), key: '/w/project/src' }).key).toBe(
      key(wrote('src/a.ts')),
    )
    const others = [
      key(wrote('src/a.ts')),
      key(wrote('src/deep/a.ts')),
      key(wrote('a.ts')),
      key(wrote('src/a.ts'), wrote('lib/a.ts')),
      key(wrote('src/a.ts'), wrote('/etc/a.ts', { isOutside: true })),
    ]
    expect(new Set(others).size).toBe(others.length)
  })

  test.each([
    [called('deploy', { key: 'deploy' }), 'every call of deploy in this project'],
    [called('web_fetch', { key: 'a.test' }), 'every call of web_fetch for `a.test` in this project'],
    [called('mail', { key: `sha256:${digestOfJson({})}` }), 'mail with exactly these arguments in this project'],
    [
      called('save', { key: 'k', effects: [{ effect: 'fs.write', isOutside: true }] }),
      'every call of save for `k` in this project',
    ],
  ])('T03 what the tool itself tells apart', (call, words) => {
    expect(coveredCalls(call)).toEqual({ key: call.key, words })
  })
})
