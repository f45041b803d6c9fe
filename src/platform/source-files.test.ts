import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isWithin, readingBudget, sourceFiles } from './source-files.ts'

let root = ''
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'libero-files-')))
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
}

const namesOf = ({ files }: { files: ReadonlyMap<string, string> }): string[] =>
  [...files.keys()].map((path) => path.slice(root.length + 1)).sort()

const ofFolder = (limit = {}) => sourceFiles(root, root, readingBudget(limit))

describe('the files of a module', () => {
  test('are those it names in any kind of import, and those they name', async () => {
    await write({
      'a.ts': `import b from './lib/b.ts'\nexport * from "./c.ts"\nconst d = await import(\`./d.mjs\`)\nrequire('./e')\nimport './f.json' with { type: 'json' }\nimport fs from 'node:fs'\nimport x from '@scope/x'`,
      'lib/b.ts': `import '../g.ts?query'\n// from './none.ts'`,
      'c.ts': `import './a.ts'`,
      'd.mjs': '',
      'e/index.js': `module.exports = require( './h.cjs' )`,
      'e/h.cjs': '',
      'f.json': '{}',
      'g.ts': '',
      'unused.ts': '',
    })
    const files = await sourceFiles(root, join(root, 'a.ts'), readingBudget())
    expect(namesOf(files)).toEqual(['a.ts', 'c.ts', 'd.mjs', 'e/h.cjs', 'e/index.js', 'f.json', 'g.ts', 'lib/b.ts'])
  })

  test('must lie in its folder', async () => {
    await write({ 'tools/a.ts': `import '../b.ts'`, 'b.ts': '', 'tools/c.ts': `import './d.ts'` })
    await symlink(join(root, 'b.ts'), join(root, 'tools/d.ts'))
    const tools = join(root, 'tools')
    await expect(sourceFiles(tools, join(tools, 'a.ts'), readingBudget())).rejects.toThrow('lies outside')
    await expect(sourceFiles(tools, join(tools, 'c.ts'), readingBudget())).rejects.toThrow('leads out of')
  })
})

describe('the files of a folder', () => {
  test('are also those that its modules import from beside it', async () => {
    await write({ 'tool/main.mjs': `import '../shared.mjs'`, 'shared.mjs': '', 'other.mjs': '' })
    const files = await sourceFiles(root, join(root, 'tool'), readingBudget())
    expect(namesOf(files)).toEqual(['shared.mjs', 'tool/main.mjs'])
  })

  test('are all there are, links by where they lead, inside of it', async () => {
    await write({ 'main.ts': '', 'data/x.txt': '' })
    await symlink('main.ts', join(root, 'again.ts'))
    expect(namesOf(await ofFolder())).toEqual(['data/x.txt', 'main.ts'])
    await symlink(tmpdir(), join(root, 'out'))
    await expect(ofFolder()).rejects.toThrow('leads out of')
  })

  test('must not be too many', async () => {
    await write(Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`${i}.txt`, ''])))
    await expect(ofFolder({ files: 20 })).rejects.toThrow('more than 20 files')
  })

  test('make another digest when one changes its content or its name', async () => {
    const digests = new Set<string>()
    for (const files of [{ 'a.ts': '1' }, { 'a.ts': '2' }, { 'b.ts': '' }]) {
      await write(files)
      digests.add((await ofFolder()).digest)
      digests.add((await ofFolder()).digest)
    }
    expect(digests.size).toBe(3)
  })
})

test('a folder whose name begins alike is another folder', () => {
  expect([isWithin('/a/b', '/a/b'), isWithin('/a/b', '/a/b/c'), isWithin('/a/b', '/a/bc')]).toEqual([true, true, false])
})
