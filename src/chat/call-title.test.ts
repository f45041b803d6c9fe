import { expect, test } from 'vitest'
import { callTitle } from './call-title.ts'

test.each([
  [{ command: 'npm test' }, 'npm test'],
  [{ command: 'a\nb' }, 'a\\nb'],
  [{ path: '/desk/project/src/a.ts' }, 'src/a.ts'],
  [{ path: '/desk/project' }, '.'],
  [{ path: '/desk/project-two/a.ts' }, '/desk/project-two/a.ts'],
  [{ pattern: 'TODO', path: '/desk/project/src' }, 'TODO in src'],
  [{ pattern: '*.ts' }, '*.ts'],
  [{ url: 'https://a.test/' }, 'https://a.test/'],
  [{ level: 3, yes: true }, '{"level":3,"yes":true}'],
  [{ mode: '\x9b2J' }, '{"mode":"\\x9b2J"}'],
  [{}, ''],
  [{ path: '\u202egpj.exe' }, '\\u202egpj.exe'],
])('%j is shown as %j', (input, title) => {
  expect(callTitle(input, '/desk/project')).toBe(title)
})

test('an input of megabytes is cut before it is serialized', () => {
  const title = callTitle({ blob: 'x'.repeat(5_000_000), list: Array.from({ length: 1000 }, () => 'y') }, '/desk')
  expect(title.length).toBeLessThan(500)
  expect(title).toContain('…')
})
