import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { basePolicy } from '../../scripts/shell-corpus/base-policy.ts'
import { decide } from '../../src/authority/decide.ts'
import { shellCall } from '../../src/authority/judged-call.ts'
import { createProtection } from '../../src/authority/rules/protected-paths.ts'
import { resolveSettings } from '../../src/authority/rules/settings.ts'
import { readShell } from '../../src/shell/read-shell.ts'
import { shellFacts } from '../../src/shell/shell-facts.ts'
import { rounds } from '../soak.ts'
import { harmlessLines } from './harmless-lines.ts'

const base = mkdtempSync(join(tmpdir(), 'libero-chance-'))
const folder = join(base, 'a', 'b')
afterAll(() => rmSync(base, { recursive: true, force: true }))

const words = [
  'ls',
  'echo',
  'cat',
  'sort',
  'uniq',
  'sed',
  'printf',
  'test',
  'f.txt',
  'touch canary',
  'canary',
  '-o',
  '-n',
  'a',
  'E',
]
const quotes = [
  "'",
  '"',
  '\\',
  '$',
  '`',
  "$'",
  '""',
  "''",
  '\\\\',
  '\\"',
  '#',
  ' #',
  '!',
  '*',
  '[',
  ']',
  '{a,b}',
  '~',
  '=',
]
const syntax = [
  '\n',
  ';',
  ' && ',
  ' | ',
  '&',
  '(',
  ')',
  ' { ',
  ' }',
  '>',
  ' 2>&1',
  '>canary',
  '$(',
  '<(',
  ' > /dev/null',
  '[[ ',
]
const documents = ['<<E\n', "<<'E'\n", '<<-E\n', '<<\\E\n', '\nE\n', '<<< ']
const payloads = [
  '\ntouch canary\n',
  ';touch canary;',
  '`touch canary`',
  '$(touch canary)',
  "'w canary'",
  '-ocanary',
  '>canary',
]

/** An everyday line, or a few words, with bits of shell put in anywhere. */
const line = fc
  .tuple(
    fc.oneof(fc.constantFrom(...harmlessLines.filter((one) => !/npm|find|rg|-r/.test(one))), fc.constantFrom(...words)),
    fc.array(
      fc.record({
        at: fc.nat(1_000),
        bit: fc.constantFrom(...words, ...quotes, ...syntax, ...documents, ...payloads),
        pad: fc.constantFrom('', ' '),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  )
  .map(([start, bits]) => bits.reduce(inserted, start))

function inserted(text: string, { at, bit, pad }: { at: number; bit: string; pad: string }): string {
  const place = at % (text.length + 1)
  return `${text.slice(0, place)}${pad}${bit}${pad}${text.slice(place)}`
}

/** Runs lines in bash to find what our reading misses: a line that needs no approval must change nothing. */
test('no random line that needs no approval changes a file', { timeout: 240_000 }, async () => {
  // As `explainCommand` would judge it, with the rules compiled once for all lines.
  const location = { root: '/clone/work', home: '/home/other', isTrusted: false }
  const context = {
    ...resolveSettings({ launch: basePolicy }, location),
    root: location.root,
    protect: createProtection(location),
  }
  let silent = 0
  layOut()
  const property = fc.asyncProperty(line, async (command) => {
    if (decide(shellCall(command, shellFacts(readShell(command), location)), context).verdict !== 'allow') return
    silent++
    const env = { PATH: '/usr/bin:/bin', HOME: folder }
    const options = { cwd: folder, env, timeout: 5_000, stdio: 'ignore' } as const
    spawnSync('/bin/bash', ['--noprofile', '--norc', '-c', command], options)
    const isSame =
      readdirSync(base, { recursive: true }).length === 3 && readFileSync(join(folder, 'f.txt'), 'utf8') === text
    if (!isSame) layOut()
    expect(isSame, JSON.stringify(command)).toBe(true)
  })
  await fc.assert(property, { numRuns: rounds(1_000, 10_000) })
  expect(silent).toBeGreaterThan(rounds(20, 300))
})

const text = 'hello\nworld\n'

function layOut(): void {
  rmSync(join(base, 'a'), { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'f.txt'), text)
}
