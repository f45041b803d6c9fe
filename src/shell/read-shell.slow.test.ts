import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { readShell } from './read-shell.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-read-shell-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hasBash = spawnSync('bash', ['-c', 'true']).status === 0
if (!hasBash) console.warn('SKIPPED: bash is not installed, our reading of lines is not compared')

/** Programs that exist nowhere, and everything that may stand between them. Nothing here can do harm when it is run. */
const fragments = [
  ...['p1', 'p2', 'p3', 'p1 x', 'p2 "y z"', "p3 'it; p1'", 'p1\\;p2', 'p2 a#b', 'p"1"', "'p'2", ' ', ' ', ' '],
  ...[';', '&&', '||', '|', '|&', '\n', '\n', '#', '# p1', '!', '! ', 'time ', 'time -p ', '-p', '--', ';;', '&'],
  ...[
    '(',
    ')',
    '{',
    '}',
    '{ ',
    '; }',
    '[[ a ]]',
    '((1))',
    'if ',
    'then ',
    'fi',
    'for x in a; do',
    'done',
    'function ',
    'p1()',
  ],
  ...[
    "'",
    '"',
    '\\',
    '`',
    '$',
    '$(',
    '$((',
    '))',
    '<(',
    '>f',
    '2>&1',
    '>&2',
    '<',
    '<<<',
    '<<<x',
    '<<E\n',
    "<<'E'\n",
    '<<-E\n',
    '\nE\n',
    '\tE\n',
    'E',
  ],
  ...[
    'a=b',
    'a=(',
    'a+=b',
    'LC_ALL=C ',
    'a[0]=b',
    '=',
    '~',
    '*',
    '{a,b}',
    ',',
    'coproc ',
    'case a in a)',
    'esac',
    'else',
    'in',
    ']]',
  ],
]
const line = fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 12 }).map((all) => all.join(''))

test.runIf(hasBash)('a reading without obstacles names every command that bash runs', () => {
  const log = join(folder, 'log')
  let ran = 0
  fc.assert(
    fc.property(fc.array(line, { minLength: 60, maxLength: 60 }), (lines) => {
      const clear = lines.filter((text) => {
        const { isWhole, obstacles, commands } = readShell(text)
        return isWhole && obstacles.length === 0 && commands.length > 0
      })
      // Each line in a shell of its own, as it would be run. Whatever is not found is written down.
      const each = clear.map((_, i) => `bash --noprofile --norc -f -c "$\{line[${i}]}" 2>/dev/null; printf '\\2' >&9`)
      const setup = `exec 9>${log}; cd ${folder}; export -f command_not_found_handle; line=("$@")`
      const noted = `command_not_found_handle() { local IFS=$'\\1'; printf '%s\\3' "$*" >&9; }`
      const script = [noted, setup, ...each].join('\n')
      spawnSync('bash', ['--noprofile', '--norc', '-c', script, 'bash', ...clear], { input: '', timeout: 20_000 })
      const shells = readFileSync(log, 'utf8').split('\x02').slice(0, -1)
      expect(shells).toHaveLength(clear.length)
      for (const [i, text] of clear.entries()) {
        const known = readShell(text).commands.map(({ words }) => words.join('\x01'))
        const seen = shells[i]!.split('\x03').slice(0, -1)
        ran += seen.length
        expect({ text, unknown: seen.filter((one) => !known.includes(one)) }).toEqual({ text, unknown: [] })
      }
    }),
    { numRuns: 12, endOnFailure: true },
  )
  expect(ran).toBeGreaterThan(50)
})

test('nothing makes it throw, and what it says is plain data', () => {
  const pieces = [
    '$(',
    '`',
    '"',
    "'",
    '((',
    '))',
    ')',
    '{',
    '}',
    '${',
    '<<E\n',
    'E\n',
    'if ',
    'sh -c ',
    'sudo -Z ',
    'a',
    ' ',
    '\\',
    '\n',
    ';',
    '[[',
    '$',
    '=(',
    '<(',
    'case x in ',
    'find -exec ',
  ]
  const shell = fc.array(fc.constantFrom(...pieces), { maxLength: 40 }).map((all) => all.join(''))
  const bytes = fc.uint8Array({ maxLength: 200 }).map((all) => Buffer.from(all).toString('latin1'))
  fc.assert(
    fc.property(fc.oneof(shell, bytes, fc.string({ unit: 'binary', maxLength: 100 })), (text) => {
      const reading = readShell(text)
      expect(structuredClone(reading)).toEqual(reading)
      expect(reading.isWhole || reading.obstacles.length > 0).toBe(true)
    }),
    { numRuns: 500 },
  )
})
