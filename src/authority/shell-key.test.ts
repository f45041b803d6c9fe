import { describe, expect, test } from 'vitest'
import { readShell } from '../shell/read-shell.ts'
import type { ShellLocation } from '../shell/shell-location.ts'
import { shellKey } from './shell-key.ts'

const location: ShellLocation = { root: '/w/project', home: '/home/me', isTrusted: true }
const key = (line: string, where: Partial<ShellLocation> = {}): string =>
  shellKey(readShell(line), { ...location, ...where }, line)

describe('the key of a line', () => {
  test.each([
    ['ls -la', 'ls -la'],
    ['"ls"  -la', 'ls -la'],
    ["l's' '-la'", 'ls -la'],
    ["grep 'a b' f", "grep 'a b' f"],
    ['grep "it\'s" f', "grep 'it'\\''s' f"],
    ['ls *.ts', 'ls *.ts'],
    ["ls '*.ts'", "ls '*.ts'"],
    ['ls > out', 'ls >out'],
    ['ls 2>&1', 'ls 2>&1'],
    ["''", "''"],
  ])('%s is %s', (line, expected) => {
    expect(key(line)).toBe(expected)
  })

  test.each([
    ['ls a', 'ls "a "'],
    ['ls a b', 'ls "a b"'],
    ['ls *', "ls '*'"],
    ['echo 2 > f', 'echo 2> f'],
    ['echo > f', 'echo ">" f'],
    ['echo > f', 'echo >> f'],
    ['"A=1" ls', 'A=1 ls'],
    ['A=1 ls', 'A=2 ls'],
    ['A=1 ls', 'ls'],
    ['cat a | sh', 'cat a; sh'],
    ['cat a && sh', 'cat a || sh'],
    ['timeout 5 ls', 'timeout 6 ls'],
    ['timeout 5 ls', 'ls'],
    ["cat <<'E'\na\nE", "cat <<'E'\nb\nE"],
    ['echo $A', 'echo $B'],
    ['echo "(src)" ls', '(src) ls'],
  ])('%s and %s have different ones', (one, other) => {
    expect(key(one)).not.toBe(key(other))
  })

  test('SH-52 the directory is part of it', () => {
    expect(key('ls', { cwd: '/w/project/src' })).toBe('(src) ls')
    expect(key('ls', { cwd: '/tmp' })).toBe('(/tmp) ls')
    expect(key('ls', { cwd: '/w/project' })).toBe('ls')
    expect(key('ls', { cwd: '/w/project/a b' })).toBe("('a b') ls")
  })

  test('several commands are shown, and how they are joined counts', () => {
    expect(key('ls  &&   pwd')).toMatch(/^ls; pwd #[0-9a-f]{32}$/)
    expect(key('ls  &&   pwd')).toBe(key('ls && pwd'))
  })

  test('one that cannot be read, is long, or holds control characters is a digest', () => {
    for (const line of [
      'ls $(x)',
      `ls ${'a'.repeat(2000)}`,
      "printf 'a\nb'",
      'ls\u0007',
      '',
      'for x in a; do ls; done',
    ]) {
      expect(key(line)).toMatch(/^sha256:[0-9a-f]{64}$/)
    }
    expect(key("printf 'a\nb'")).toBe(key('printf  "a\nb"'))
    expect(Buffer.byteLength(key(`ls ${'ä'.repeat(500)}`))).toBeLessThanOrEqual(1024)
  })
})

test('the key of very many commands is short, and their place is a part of it', () => {
  const many = 'cd a && '.repeat(900)
  expect(key(`${many}ls`)).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(key(`${many}ls`)).not.toBe(key(`${many}pwd`))
  expect(key(`${many}ls`)).not.toBe(key(`${many}ls`, { cwd: '/w/project/src' }))
})
