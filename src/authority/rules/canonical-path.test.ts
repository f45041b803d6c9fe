import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fileCall } from '../../../test/authority/call-kit.ts'
import { bothForms, canonicalPath } from './canonical-path.ts'
import { resolveSettings } from './settings.ts'

const base = { root: '/desk/project', home: '/desk' }

describe('FS-13 all spellings of a path match the same deny rule', () => {
  test.each([
    '/desk/a/../.env',
    '/desk/./.env',
    '//desk//.env',
    '~/.env',
    '~/a/../.env',
    'file:///desk/.env',
    'file://localhost/desk/%2eenv',
    '/desk/.env/',
    '/desk/.env.',
    '/desk/.env. ',
    '/desk/.ENV',
    '/desk/.env::$DATA',
    '/desk/.env:x:$DATA',
    '\\desk\\.env',
    '\\\\?\\desk\\.env',
    '\\\\.\\desk\\.env',
    '\\??\\desk\\.env',
    '/desk/.e\u200bnv',
  ])('%s', (path) => {
    expect(canonicalPath(path, base)).toBe('/desk/.env')
    const { rules } = resolveSettings({ launch: { deny: ['fs.read:/desk/.env'] } }, { home: '/desk' })
    expect(rules.matchDeny(fileCall('fs.read', path), base.root)).toHaveLength(1)
  })
})

test('a path inside the workspace has two forms, one outside has one', () => {
  expect(bothForms('src/A', base)).toEqual(['src/a', '/desk/project/src/a'])
  expect(bothForms('/desk/project/src/A', base)).toEqual(['/desk/project/src/a', 'src/a'])
  expect(bothForms('.', base)).toEqual(['.', '/desk/project'])
  expect(bothForms('/desk/project-evil/a', base)).toEqual(['/desk/project-evil/a'])
})

test('a canonical path stays unchanged', () => {
  const names = fc.constantFrom('a', '.A', '..', '.', '', 'b. ', '\u00e9', 'e\u0301', '~', 'c:', '\u017f', '*')
  fc.assert(
    fc.property(fc.array(names, { maxLength: 6 }), (parts) => {
      const once = canonicalPath(parts.join('/'))
      expect(canonicalPath(once)).toBe(once)
    }),
  )
})
