import { afterAll, describe, expect, test } from 'vitest'
import { explainLine } from '../../src/authority/rules/explain.ts'
import type { AuthoritySettings } from '../../src/authority/rules/settings.ts'
import { createShellReader } from '../../src/shell/shell-reader.ts'

const reader = createShellReader()
afterAll(() => reader.close())

async function verdict(line: string, launch: AuthoritySettings): Promise<string> {
  const location = { root: '/desk/Project', home: '/home/me', isTrusted: true }
  const { verdict, by } = await explainLine(line, { layers: { launch }, location }, reader.read)
  return `${verdict} ${by}`
}

describe('a rule about the content of a folder applies to the folder', () => {
  const writes: AuthoritySettings = { mode: 'yolo', deny: ['fs.write:src/*', 'fs.write:docs/api/x.md'] }
  test.each(['rm -rf src', 'cp a src/', 'mv a src', 'mv src lib', 'find src -delete', 'rm -r docs', 'rm -rf /desk'])(
    'when %s would change all of it',
    async (line) => expect(await verdict(line, writes)).toBe('deny deny-rule'),
  )
  test.each(['touch lib/a', 'rm -r srcs', 'mkdir docs/api2', 'cat src/a'])('and for no other: %s', async (line) =>
    expect(await verdict(line, writes)).toBe('allow mode-gate'),
  )
  test('and a command that may change anything in the workspace needs an approval', async () =>
    expect(await verdict('git push', writes)).toBe('ask floor'))

  const reads: AuthoritySettings = {
    mode: 'allowlist',
    allow: ['shell:grep', 'shell:cat'],
    deny: ['fs.read:secrets/*'],
  }
  test('when all of it is searched', async () => {
    expect(await verdict('grep -r x secrets', reads)).toBe('deny deny-rule')
    expect(await verdict('grep -r x .', reads)).toBe('ask sandbox')
    expect(await verdict('grep -r x .', { ...reads, mode: 'yolo' })).toBe('ask floor')
    expect(await verdict('grep x a.txt', reads)).toBe('allow allow-rule')
  })
})
