import { describe, expect, test } from 'vitest'
import { looseFilter, nameGlobs, type PathFilterSpec, pathFilter, skippableGlobs, strictFilter } from './path-filter.ts'

/** With the base in front, as it is in the world. */
function accepts(spec: PathFilterSpec, path: string): boolean {
  return path.startsWith(spec.base) && pathFilter(spec).acceptsFile(path.slice(spec.base.length))
}

describe('globs that match anywhere', () => {
  test.each([
    [['*.ts'], 'a.ts', true],
    [['*.ts'], 'src/a.ts', true],
    [['src/*.ts'], 'src/a.ts', true],
    [['src/*.ts'], 'x/src/a.ts', false],
    [['/a.ts'], 'src/a.ts', false],
    [['src/'], 'x/src/a/b', true],
    [['*.ts', '*.js'], 'b.js', true],
    [['!*.ts'], 'a.ts', false],
    [['!*.ts'], 'a.js', true],
    [['*.ts', '!*.test.ts'], 'a.test.ts', false],
    [['!src'], 'src/deep/a', false],
    [['!src/'], 'src', true],
    [['!src/a'], 'x/src/a', true],
    [['./src/*.ts'], 'src/a.ts', true],
    [['{src,lib}/**'], 'lib/x', true],
  ])('%j and %s: %s', (globs, path, isIn) => {
    expect(accepts(looseFilter(globs), path)).toBe(isIn)
  })
})

describe('a glob that is matched from its beginning', () => {
  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'src/a.ts', false],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'src/a.ts', true],
    ['**/*.ts', 'src/a.tsx', false],
    ['src/*.{ts,tsx}', 'src/a.tsx', true],
    ['src/', 'src/a/b', true],
    ['./a', 'a', true],
  ])('%s and %s: %s', (glob, path, isIn) => {
    expect(accepts(strictFilter(glob), path)).toBe(isIn)
  })

  test.each([
    ['src/**/*.ts', { base: 'src/', wanted: ['**/*.ts'], depth: undefined }],
    ['src/a/*.ts', { base: 'src/a/', wanted: ['*.ts'], depth: 1 }],
    ['src/{a,b}/*.ts', { base: 'src/', wanted: ['a/*.ts', 'b/*.ts'], depth: 2 }],
    ['src/x.ts', { base: 'src/', wanted: ['x.ts'], depth: 1 }],
    ['**', { base: '', wanted: ['**'], depth: undefined }],
    ['*/*', { base: '', wanted: ['*/*'], depth: 2 }],
  ])('%s is looked for where it can be', (glob, expected) => {
    expect(strictFilter(glob)).toEqual({ ...expected, unwanted: [] })
  })

  test('FS-01 one that leads out is refused', () => {
    expect(() => strictFilter('../../**')).toThrow('".."')
    expect(() => strictFilter('src/../../etc/passwd')).toThrow('".."')
    expect(() => strictFilter('{a,../b}')).toThrow('".."')
    expect(() => strictFilter('/etc/*')).toThrow('slash')
    expect(() => looseFilter(['../*.ts'])).toThrow('".."')
    expect(() => looseFilter(['!../*.ts'])).toThrow('".."')
  })
})

test('what is left out is not walked into', () => {
  const { entersFolder } = pathFilter(looseFilter(['!build/', '!node_modules']))
  expect([entersFolder('src'), entersFolder('build'), entersFolder('a/node_modules')]).toEqual([true, false, false])
})

test('an engine is told names only when they say it all', () => {
  expect(nameGlobs(looseFilter(['*.ts', 'src/**/*.{js,jsx}']))).toEqual(['*.ts', '*.js', '*.jsx'])
  expect(nameGlobs(looseFilter(['*.ts', '?.js']))).toBeUndefined()
  expect(nameGlobs(looseFilter(['src/**']))).toBeUndefined()
  expect(nameGlobs(looseFilter(['!*.ts']))).toBeUndefined()
  expect(skippableGlobs(looseFilter(['!dist/', '!a/b', '!*.md', '![ab]']))).toEqual(['dist/', '*.md'])
})
