import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fileCall } from '../../../test/authority/call-kit.ts'
import { bothForms, canonicalPath } from './canonical-path.ts'
import { resolveSettings } from './settings.ts'

const place = { root: '/work/project', home: '/work' }

describe('FS-13 all spellings of a path are one, so that a deny cannot be spelled around', () => {
  test.each([
    '/work/a/../.env',
    '/work/./.env',
    '//work//.env',
    '~/.env',
    '~/a/../.env',
    'file:///work/.env',
    'file://localhost/work/%2eenv',
    '/work/.env/',
    '/work/.env.',
    '/work/.env. ',
    '/work/.ENV',
    '/work/.env::$DATA',
    '/work/.env:x:$DATA',
    '\\work\\.env',
    '\\\\?\\work\\.env',
    '\\\\.\\work\\.env',
    '\\??\\work\\.env',
    '/work/.e\u200bnv',
  ])('%s', (path) => {
    expect(canonicalPath(path, place)).toBe('/work/.env')
    const { rules } = resolveSettings({ launch: { deny: ['fs.read:/work/.env'] } }, { home: '/work' })
    expect(rules.matchDeny(fileCall('fs.read', path), place.root)).toHaveLength(1)
  })
})

test('a path inside the workspace has two forms, one outside has one', () => {
  expect(bothForms('src/A', place)).toEqual(['src/a', '/work/project/src/a'])
  expect(bothForms('/work/project/src/A', place)).toEqual(['/work/project/src/a', 'src/a'])
  expect(bothForms('.', place)).toEqual(['.', '/work/project'])
  expect(bothForms('/work/project-evil/a', place)).toEqual(['/work/project-evil/a'])
})

test('what is canonical stays as it is', () => {
  const names = fc.constantFrom('a', '.A', '..', '.', '', 'b. ', '\u00e9', 'e\u0301', '~', 'c:', '\u017f', '*')
  fc.assert(
    fc.property(fc.array(names, { maxLength: 6 }), (parts) => {
      const once = canonicalPath(parts.join('/'))
      expect(canonicalPath(once)).toBe(once)
    }),
  )
})
