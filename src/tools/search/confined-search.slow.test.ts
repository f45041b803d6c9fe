import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { plainConfinement } from '../../../test/sandbox/harness.ts'
import { confinedExecution } from '../../core/confined-execution.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import { createProcessContext } from '../../execution/process.ts'
import { holdFolder } from './held-folders.ts'
import { searchTree } from './host-search.ts'
import { everyPath } from './path-filter.ts'
import type { SearchQuery } from './query.ts'
import { createSearcher } from './searcher.ts'

const query: SearchQuery = {
  ...({ mode: 'content', pattern: 'CANARY', ignoreCase: false, multiline: false, before: 0, after: 0 } as const),
  ...{ filter: everyPath, skip: 0, take: 100, limitMs: 20_000 },
}
const folder = (path: string) => ({ path, kind: 'folder' }) as const

function plant(files: Readonly<Record<string, string>>): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'libero-search-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

async function found(execution: ExecutionContext, path: string, asked = query) {
  const handle = await execution.spawn()
  onTestFinished(() => execution.destroy(handle))
  const ctx = { execution, handle, signal: new AbortController().signal }
  const { entries, gaps } = await createSearcher({ ripgrep: false })(asked, folder(path), ctx)
  return { texts: entries.map((entry) => `${entry.path}: ${entry.text ?? ''}`), gaps }
}

describe('a link that is put in the place of a folder while it is searched', () => {
  test.each([
    ['by descriptors', undefined],
    ['by paths', false],
  ] as const)('is not followed, %s', (_, byDescriptor) => {
    const root = plant({ 'work/d/a.txt': 'inside', 'out/a.txt': 'CANARY', 'out/b.txt': 'CANARY' })
    const held = holdFolder(join(root, 'work'), byDescriptor)
    const inner = held.folder('d')
    renameSync(join(root, 'work/d'), join(root, 'work/e'))
    symlinkSync('../out', join(root, 'work/d'))
    expect(() => held.folder('d')).toThrow()
    expect(() => inner.file('b.txt')).toThrow()
    expect(() => holdFolder(join(root, 'work/d'), byDescriptor).entries()).toThrow()
    // By paths it is not found any more, by a descriptor it is.
    if (byDescriptor === false) expect(() => inner.entries()).toThrow()
    else expect(inner.entries().map(({ name }) => name)).toEqual(['a.txt'])
    inner.close()
    held.close()
  })

  test.skipIf(process.platform !== 'linux')('shows nothing of its target, however often it changes', async () => {
    const files = Array.from({ length: 40 }, (_, i) => [
      [`work/d/${i}.txt`, 'plain\n'],
      [`out/${i}.txt`, 'CANARY\n'],
    ])
    const root = plant(Object.fromEntries(files.flat()))
    const work = join(root, 'work')
    symlinkSync('../out', join(work, 'l'))
    const flip = `import { renameSync } from 'node:fs'
      for (;;) { renameSync('d', 't'); renameSync('l', 'd'); renameSync('d', 'l'); renameSync('t', 'd') }`
    const flipping = spawn(process.execPath, ['--input-type=module', '-e', flip], { cwd: work, stdio: 'ignore' })
    try {
      for (const until = performance.now() + 1500; performance.now() < until; )
        expect(searchTree(query, folder(work)).entries).toEqual([])
    } finally {
      flipping.kill('SIGKILL')
    }
  })

  test('nor is a .gitignore that is a link', () => {
    const root = plant({ 'work/a.txt': 'CANARY', 'out/rules': 'a.txt\n' })
    symlinkSync('../out/rules', join(root, 'work/.gitignore'))
    expect(searchTree(query, folder(join(root, 'work'))).entries).toHaveLength(1)
  })
})

describe.skipIf(unavailable)(`without ripgrep, where commands run in a sandbox${skipped}`, () => {
  test('a search shows nothing that rules hide', async () => {
    const root = plant({
      '.env': 'CANARY 1',
      'a/secret.txt': 'CANARY 2',
      'b/open.txt': 'CANARY 3',
      '.gitignore': 'c\n',
      c: 'CANARY',
    })
    const hidden = [join(root, '.env'), join(root, 'a')]
    const confinement = { ...plainConfinement('read-only', root), hidden }
    const execution = confinedExecution(createProcessContext({ cwd: root }), confinement)
    const { texts, gaps } = await found(execution, root)
    expect(texts).toEqual(['b/open.txt: CANARY 3'])
    expect(gaps).toEqual({ unreadable: 1 })
    const { texts: names } = await found(execution, root, { ...query, mode: 'list' })
    expect(names).not.toContain('a/secret.txt: ')
  })

  test('a search in the bubblewrap context shows no credentials', async () => {
    const cwd = emptyFolder()
    execFileSync('sh', ['-c', 'mkdir keys && echo CANARY >keys/id && echo CANARY >open.txt'], { cwd })
    const { context } = await place({ cwd, hidden: [join(cwd, 'keys')] })
    expect((await found(context, cwd)).texts).toEqual(['open.txt: CANARY'])
  })

  test('names of any form are read, and what is too long for a text is told', async () => {
    const root = plant({ "it's a\nname": 'CANARY 1', '-n': 'CANARY 2', 'ü/$(x)': 'CANARY 3', 'z.bin': 'CANARY\0' })
    const execution = confinedExecution(createProcessContext({ cwd: root }), plainConfinement('read-only', root))
    expect((await found(execution, root)).texts).toEqual(['-n: CANARY 2', "it's a\nname: CANARY 1", 'ü/$(x): CANARY 3'])
    expect((await found(execution, root, { ...query, limitMs: -1 })).gaps).toEqual({ stopped: 'time' })
  })
})
