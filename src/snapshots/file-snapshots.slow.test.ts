import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { randomOf } from '../../crash/random.ts'
import { picture } from '../../test/folder-picture.ts'
import { rounds, testInTurns } from '../../test/soak.ts'
import type { ExecutionContext } from '../core/execution.ts'
import { createAgent } from '../create-agent.ts'
import { createProcessContext } from '../execution/process.ts'
import { call, fakeClock, scripted } from '../testing/index.ts'
import { shell } from '../tools/index.ts'
import { createFileSnapshots, type FileSnapshotsOptions, type Work } from './file-snapshots.ts'
import type { Snapshot } from './snapshot.ts'

// Each of them runs git many times.
const test = testInTurns(4)

const made: string[] = []
const contexts: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of contexts.splice(0)) await end()
  storeFolder = undefined
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
})

describe('D047 files are restored to before a turn', () => {
  test('D047 files that a turn wrote, changed and removed with a shell are restored', async () => {
    const repo = repository({ 'a.txt': 'one', 'src/b.txt': 'two', 'old/c.txt': 'three' })
    const { files, execution } = await open(repo.root)
    const before = await taken(files)
    const line = 'echo changed > a.txt; rm -r old; mkdir -p new/deep; echo x > new/deep/d; mv src/b.txt src/e.txt'
    const agent = createAgent({
      provider: scripted([call('1', 'shell', { command: line })], 'Done.'),
      execution,
      tools: { shell },
    })
    await agent.run({ prompt: 'Go.' })
    await agent.destroy()
    const after = await taken(files)
    expect(readFileSync(join(repo.root, 'a.txt'), 'utf8')).toBe('changed\n')
    const result = await files.rollback({ before, after })
    expect(result).toMatchObject({
      restored: ['a.txt', 'old/c.txt', 'src/b.txt'],
      deleted: ['new/deep/d', 'src/e.txt'],
      conflicts: [],
      failed: [],
    })
    expect(repo.git('status', '--porcelain')).toBe('') // the commit, and nothing else
    expect(existsSync(join(repo.root, 'new'))).toBe(false)
  })

  test('a dry run says the same and does nothing', async () => {
    const repo = repository({ a: '1', b: '2' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ a: 'x', c: 'y' })
    const after = await taken(files)
    repo.write({ c: 'mine' })
    const state = picture(repo.root)
    const plan = await files.plan(before, after)
    expect(plan).toEqual({ restore: ['a'], delete: [], conflicts: [{ path: 'c', why: 'it was changed since' }] })
    expect(picture(repo.root)).toEqual(state)
  })

  test('a rollback can be undone', async () => {
    const repo = repository({ a: '1', 'd/b': '2' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ a: 'x', new: 'y' })
    rmSync(join(repo.root, 'd'), { recursive: true })
    const state = picture(repo.root)
    const { undo } = await files.rollback({ before, after: await taken(files) })
    expect(picture(repo.root)).not.toEqual(state)
    expect((await files.rollback(undo)).conflicts).toEqual([])
    expect(picture(repo.root)).toEqual(state)
  })
})

describe('the difference of a file', () => {
  test('WB03 is whole if it fits in bytes, whatever its encoding, else cut after a line; nothing of it stays', async () => {
    const repo = repository({ a: '1\n' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    writeFileSync(join(repo.root, 'a'), Buffer.from('\u00fc\u00fc\u00fc\n'.repeat(50), 'latin1'))
    const work = [{ before, after: await taken(files) }]
    const whole = await files.diff(work, { path: 'a', mostBytes: 400 })
    expect(whole).toMatchObject({ isCut: false, diff: expect.stringMatching(/@@\n-1\n(\+\ufffd{3}\n){50}$/) })
    const cut = await files.diff(work, { path: 'a', mostBytes: 200 })
    expect(cut).toMatchObject({ isCut: true, diff: expect.stringMatching(/@@\n-1\n(\+\ufffd{3}\n){1,49}$/) })
    expect(await files.changes(work)).toEqual([{ path: 'a', kind: 'changed', added: 50, removed: 1 }])
    const [own = ''] = readdirSync(store())
    expect(readdirSync(join(store(), own)).filter((name) => /lock|tmp/.test(name))).toEqual([])
  })
})

describe('files that others changed since', () => {
  test('are kept and reported: edits, removals, new files; the others are restored', async () => {
    const repo = repository({ a: '1', b: '2', c: '3', gone: '4' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ a: 'turn', b: 'turn', c: 'turn' })
    rmSync(join(repo.root, 'gone'))
    const after = await taken(files)
    repo.write({ a: 'mine', gone: 'mine' })
    rmSync(join(repo.root, 'b'))
    const { conflicts, restored } = await files.rollback({ before, after })
    expect(conflicts).toEqual([
      { path: 'a', why: 'it was changed since' },
      { path: 'b', why: 'it was removed since' },
      { path: 'gone', why: 'it was changed since' },
    ])
    expect(restored).toEqual(['c'])
    expect(picture(repo.root)).toEqual({ a: '644 mine', c: '644 3', gone: '644 mine' })
  })

  test('are restored by force, and are in the undo snapshot', async () => {
    const repo = repository({ a: '1', b: '2' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ a: 'turn', b: 'turn', n: 'turn' })
    const after = await taken(files)
    repo.write({ a: 'mine', n: 'mine too' })
    rmSync(join(repo.root, 'b'))
    const state = picture(repo.root)
    const { undo, conflicts } = await files.rollback({ before, after, force: true })
    expect(conflicts).toEqual([])
    expect(picture(repo.root)).toEqual({ a: '644 1', b: '644 2' })
    await files.rollback(undo)
    expect(picture(repo.root)).toEqual(state)
  })

  test.each([false, true])(
    'while a rollback is at work is kept, and said to have failed (force: %s)',
    async (force) => {
      const repo = repository({ a: '1', b: '1', c: '1' })
      const { files, execution, handle } = await open(repo.root)
      const before = await taken(files)
      repo.write({ a: 'turn', b: 'turn', new: 'turn' })
      const after = await taken(files)
      const watched: Pick<ExecutionContext, 'exec'> = {
        async exec(...args) {
          // After the last look, just before room is made.
          if (args[1].includes('for given')) repo.write({ a: 'mine', new: 'mine' })
          return execution.exec(...args)
        },
      }
      const { restored, deleted, failed } = await filesIn({ execution: watched, handle }).rollback({
        ...{ before, after, force },
      })
      expect(picture(repo.root)).toEqual({ a: '644 mine', b: '644 1', c: '644 1', new: '644 mine' })
      expect([restored, deleted, failed.toSorted()]).toEqual([['b'], [], ['a', 'new']])
      expect(readdirSync(store(), { recursive: true }).filter((name) => /looked/.test(String(name)))).toEqual([])
    },
  )

  test('are not overwritten by force if no snapshot can keep them', async () => {
    const repo = repository({ a: 'small' })
    const { files } = await open(repo.root, { maxFileBytes: 100 })
    const before = await taken(files)
    repo.write({ a: 'turn' })
    const after = await taken(files)
    repo.write({ a: 'x'.repeat(101) })
    const { conflicts } = await files.rollback({ before, after, force: true })
    expect(conflicts).toEqual([{ path: 'a', why: 'it is too large' }])
    expect(readFileSync(join(repo.root, 'a'), 'utf8')).toHaveLength(101)
  })

  test('a mode that was changed since counts as a change', async () => {
    const repo = repository({ a: '1' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ a: 'turn' })
    const after = await taken(files)
    chmodSync(join(repo.root, 'a'), 0o755)
    expect((await files.rollback({ before, after })).conflicts).toHaveLength(1)
  })

  test('a file where a folder was, and a folder where a file was', async () => {
    const repo = repository({ 'dir/a': '1', file: '2' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    rmSync(join(repo.root, 'dir'), { recursive: true })
    rmSync(join(repo.root, 'file'))
    const after = await taken(files)
    repo.write({ dir: 'mine', 'file/mine': 'mine' })
    const { conflicts } = await files.rollback({ before, after })
    expect(conflicts).toEqual([
      { path: 'dir/a', why: 'something else is at the path of its folder' },
      { path: 'file', why: 'a folder with other files is at its path' },
    ])
    expect(picture(repo.root)).toEqual({ dir: '644 mine', 'file/mine': '644 mine' })
  })
})

describe('kinds of files', () => {
  test('CK16 modes, links as links, renames, files and folders that change places', async () => {
    const repo = repository({ run: '#!/bin/sh', plain: 'p', 'was-dir/x': 'x', 'was-file': 'f', moved: 'm' })
    const at = (name: string): string => join(repo.root, name)
    chmodSync(at('run'), 0o755)
    symlinkSync('plain', at('link'))
    symlinkSync('/nowhere/at/all', at('dangling'))
    const state = picture(repo.root)
    const { files } = await open(repo.root)
    const before = await taken(files)
    chmodSync(at('run'), 0o644)
    chmodSync(at('plain'), 0o755)
    rmSync(at('link'))
    repo.write({ link: 'a file now' })
    rmSync(at('dangling'))
    symlinkSync('plain', at('dangling'))
    rmSync(at('was-dir'), { recursive: true })
    repo.write({ 'was-dir': 'now a file' })
    rmSync(at('was-file'))
    repo.write({ 'was-file/deep/er': 'now a folder' })
    renameSync(at('moved'), at('moved away'))
    mkdirSync(at('was-file/empty'))
    const result = await files.rollback({ before, after: await taken(files) })
    expect(result).toMatchObject({ conflicts: [], failed: [] })
    expect(picture(repo.root)).toEqual(state)
    await files.rollback(result.undo)
    expect(readlinkSync(at('dangling'))).toBe('plain')
  })

  test('CK16 CK08 a file and an empty folder change places, as do a link and a folder; folders in empty folders come back', async () => {
    const repo = repository({ file: '1', 'd/x': '2' })
    const at = (name: string): string => join(repo.root, name)
    symlinkSync('d', at('link'))
    mkdirSync(at('empty/.in/this'), { recursive: true })
    const { files } = await open(repo.root)
    const [before, first] = [await taken(files), picture(repo.root)]
    for (const name of ['file', 'link', 'empty']) rmSync(at(name), { recursive: true })
    mkdirSync(at('file'))
    mkdirSync(at('other/one'), { recursive: true })
    repo.write({ 'link/y': '3' })
    mkdirSync(at('link/one'))
    const [after, second] = [await taken(files), picture(repo.root)]
    const back = await files.rollback({ before, after })
    expect(back).toMatchObject({
      conflicts: [],
      failed: [],
      deleted: ['link/y', 'file/', 'link/one/', 'other/', 'other/one/'],
    })
    expect([picture(repo.root), readdirSync(at('empty/.in')), existsSync(at('other'))]).toEqual([
      first,
      ['this'],
      false,
    ])
    expect(await files.rollback(back.undo)).toMatchObject({ conflicts: [], failed: [] })
    expect([picture(repo.root), readdirSync(at('file')), readdirSync(at('other'))]).toEqual([second, [], ['one']])
    expect(readdirSync(at('link')).sort()).toEqual(['one', 'y'])
  })

  test('CK08 a folder that was empty stays when the files that a turn made in it go', async () => {
    const repo = repository({ a: '1' })
    for (const folder of ['empty', 'deep/er']) mkdirSync(join(repo.root, folder), { recursive: true })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ 'empty/new': 'x', 'deep/er/new/est': 'x' })
    const after = await taken(files)
    const made = { restore: [], delete: ['deep/er/new/est', 'empty/new'], conflicts: [] }
    expect(await files.plan(before, after)).toEqual(made)
    expect((await files.rollback({ before, after })).failed).toEqual([])
    expect(['empty', 'deep/er'].map((folder) => readdirSync(join(repo.root, folder)))).toEqual([[], []])
  })

  test('CK16 names with spaces, quotes, newlines, dashes, and bytes that are no UTF-8', async () => {
    const names = [
      'with space',
      'quo"te\\',
      'new\nline',
      '-rf',
      '*',
      'ünï',
      '$(touch pwned)',
      ':(top)x',
      '#x',
      'tab\t',
      ' lead',
    ]
    const repo = repository(Object.fromEntries(names.map((name) => [name, name])))
    const raw = Buffer.concat([Buffer.from(`${repo.root}/caf`), Buffer.from([0xe9])])
    writeFileSync(raw, 'latin')
    const { files } = await open(repo.root)
    const before = await taken(files)
    for (const name of names.slice(0, 6)) repo.write({ [name]: 'changed' })
    for (const name of names.slice(6)) rmSync(join(repo.root, name))
    repo.write({ 'another\nnew one/-x': 'x' })
    writeFileSync(raw, 'changed')
    const after = await taken(files)
    const { restored, deleted, conflicts } = await files.rollback({ before, after })
    expect(conflicts).toEqual([])
    expect([...restored].sort()).toEqual([...names, '"caf\\351"'].sort())
    expect(deleted).toEqual(['another\nnew one/-x'])
    for (const name of names) expect(readFileSync(join(repo.root, name), 'utf8')).toBe(name)
    expect(readFileSync(raw, 'utf8')).toBe('latin')
    expect(existsSync(join(repo.root, 'another\nnew one'))).toBe(false)
    expect(existsSync(join(repo.root, 'pwned'))).toBe(false)
  })

  test('CK16 CK13 bytes come back as they were, whatever line endings, filters and encodings a repository sets', async () => {
    const repo = repository({
      '.gitattributes': '* text=auto eol=lf ident\n*.u16 working-tree-encoding=UTF-16\n*.f filter=evil\n',
    })
    const proof = join(repo.root, '..', 'proof')
    const hook = `#!/bin/sh\ntouch '${proof}'\n`
    repo.git('config', 'filter.evil.clean', `touch '${proof}'; cat`)
    repo.git('config', 'filter.evil.smudge', `touch '${proof}'; cat`)
    repo.git('config', 'filter.evil.required', 'true')
    writeFileSync(join(repo.root, '..', 'monitor'), hook, { mode: 0o755 })
    repo.git('config', 'core.fsmonitor', join(repo.root, '..', 'monitor'))
    for (const name of ['post-index-change', 'reference-transaction', 'pre-commit', 'post-checkout'])
      writeFileSync(join(repo.root, '.git/hooks', name), hook, { mode: 0o755 })
    const contents = { mixed: 'a\r\nb\n$Id$\n', 'x.u16': 'not utf-16', 'y.f': 'filtered?', bin: '\0\r\n\xff' }
    repo.write(contents)
    const { files } = await open(repo.root)
    const before = await taken(files)
    for (const name of Object.keys(contents)) repo.write({ [name]: 'changed\r\n' })
    const state = picture(repo.root)
    const after = await taken(files)
    const { undo, conflicts } = await files.rollback({ before, after })
    expect(conflicts).toEqual([])
    for (const [name, text] of Object.entries(contents)) expect(readFileSync(join(repo.root, name), 'utf8')).toBe(text)
    await files.rollback(undo)
    expect(picture(repo.root)).toEqual(state)
    expect(existsSync(proof)).toBe(false)
  })
})

describe('files that are not changed', () => {
  test('CK13 the index, HEAD, branches and staged changes, byte for byte', async () => {
    const repo = repository({ a: '1', b: '2' })
    repo.write({ a: 'staged' })
    repo.git('add', 'a')
    repo.write({ a: 'staged and more', untracked: 'u' })
    repo.git('checkout', '--quiet', '--detach')
    const bytes = (): string[] =>
      ['index', 'HEAD', 'config', 'packed-refs', 'refs/heads/main', 'logs/HEAD'].map((name) => {
        const path = join(repo.root, '.git', name)
        return existsSync(path) ? readFileSync(path, 'base64') : 'none'
      })
    const [was, status] = [bytes(), repo.git('status', '--porcelain')]
    const same = bytes()
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ a: 'turn', untracked: 'turn', more: 'x' })
    const after = await taken(files)
    await files.rollback({ before, after })
    expect(bytes()).toEqual(same)
    expect(was).toEqual(same)
    expect(repo.git('status', '--porcelain')).toBe(status)
    expect(repo.git('show', ':a')).toBe('staged')
    expect(repo.git('for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/tags').trim()).toBe('refs/heads/main')
  })

  test('ignored files, also when the turn changes what is ignored', async () => {
    const repo = repository({ '.gitignore': 'secret\nnode_modules/\n', a: '1' })
    repo.write({ secret: 'mine', 'node_modules/m/x': 'mine' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ '.gitignore': 'a\n', secret: 'turn', a: 'turn' })
    const after = await taken(files)
    const { conflicts, restored } = await files.rollback({ before, after })
    expect(conflicts.map(({ path }) => path).sort()).toEqual(['node_modules/m/x', 'secret'])
    expect(conflicts[0]!.why).toContain('what is ignored has changed')
    expect(restored).toEqual(['.gitignore', 'a'])
    expect(picture(repo.root)).toMatchObject({ a: '644 1', secret: '644 turn', 'node_modules/m/x': '644 mine' })
  })

  test('a file that is ignored for another process is compared as it is, and not overwritten by force, as no snapshot would have it', async () => {
    const repo = repository({ a: '1', b: '1' })
    const before = await taken((await open(repo.root)).files)
    repo.git('rm', '--quiet', '--cached', 'a', 'b')
    const [folder] = readdirSync(store())
    rmSync(join(store(), folder!, 'index'))
    repo.write({ '.gitignore': 'a\nb\n', b: 'mine' })
    const { files } = await open(repo.root)
    const after = await taken(files)
    const { conflicts, deleted } = await files.rollback({ before, after, force: true })
    expect([conflicts, deleted]).toEqual([[{ path: 'b', why: 'it was changed since' }], ['.gitignore']])
    expect(picture(repo.root)).toEqual({ a: '644 1', b: '644 mine' })
  })

  test('tracked files are in a snapshot although they are ignored', async () => {
    const repo = repository({ '.gitignore': 'dist\n', a: '1' })
    repo.write({ 'dist/out': 'tracked' })
    repo.git('add', '-f', 'dist/out')
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ 'dist/out': 'turn' })
    await files.rollback({ before, after: await taken(files) })
    expect(readFileSync(join(repo.root, 'dist/out'), 'utf8')).toBe('tracked')
  })

  test.each([
    ['that .git/info/exclude names', 'mv .gitignore .git/info/exclude'],
    ['in an index of two files', 'git update-index --split-index'],
    ['in a sparse index', 'git sparse-checkout set --cone --sparse-index dist; git checkout -q -- dist'],
    ['in a linked worktree', 'git worktree add -q ../linked; cd ../linked'],
    ['in a repository with SHA-256', 'rm -rf .git; git init -q --object-format=sha256; git add -f .'],
    ['in a submodule', 'git -C "$PWD" clone -q . ../c; mv ../c/.git ../c.git; cd ../c; echo "gitdir: ../c.git" > .git'],
  ])('CK12 tracked files are in a snapshot although they are ignored, %s', async (_, script) => {
    const outer = scratch()
    const root = join(outer, 'repo')
    mkdirSync(join(root, 'dist'), { recursive: true })
    for (const [name, content] of Object.entries({ '.gitignore': 'dist\n', a: '1', 'dist/out': 'tracked' }))
      writeFileSync(join(root, name), content)
    const make = `git init -q; git add -f .; git commit -qm one; ${script}; pwd -P`
    const cwd = execFileSync('sh', ['-c', make], { cwd: root, env: gitEnv, encoding: 'utf8' }).trim()
    const { files } = await open(cwd)
    const before = await taken(files)
    writeFileSync(join(cwd, 'dist/out'), 'turn')
    await files.rollback({ before, after: await taken(files) })
    expect(readFileSync(join(cwd, 'dist/out'), 'utf8')).toBe('tracked')
  })

  test('tracked files that are ignored are in the next snapshot if the first one was cut off', async () => {
    const repo = repository({ '.gitignore': 'dist\n', a: '1' })
    repo.write({ 'dist/out': 'tracked' })
    repo.git('add', '-f', 'dist/out')
    const { files, execution, handle } = await open(repo.root)
    const dying: Pick<ExecutionContext, 'exec'> = {
      async exec(...args) {
        if (args[1].includes('write-tree')) throw new Error('power cut')
        return execution.exec(...args)
      },
    }
    await expect(filesIn({ execution: dying, handle }).take()).rejects.toThrow('power cut')
    const before = await taken(files)
    repo.write({ 'dist/out': 'turn' })
    await files.rollback({ before, after: await taken(files) })
    expect(readFileSync(join(repo.root, 'dist/out'), 'utf8')).toBe('tracked')
  })

  test('CK08 a tracked file that is ignored is in each snapshot again after it was gone for a while', async () => {
    const repo = repository({ '.gitignore': 'dist\n', a: '1' })
    repo.write({ 'dist/out': 'tracked', 'dist/é\n': 'odd', 'dist/other': 'ignored' })
    repo.git('add', '-f', 'dist/out', 'dist/é\n')
    const { files } = await open(repo.root)
    const before = await taken(files)
    rmSync(join(repo.root, 'dist'), { recursive: true }) // as a build does
    await taken(files)
    repo.write({ 'dist/out': 'built', 'dist/é\n': 'built', 'dist/other': 'built' })
    const back = await files.rollback({ before, after: await taken(files) })
    expect(back).toMatchObject({ restored: ['dist/out', 'dist/é\n'], conflicts: [] })
    expect(picture(repo.root)).toMatchObject({ 'dist/out': '644 tracked', 'dist/other': '644 built' })
    await files.rollback(back.undo)
    expect(picture(repo.root)).toMatchObject({ 'dist/out': '644 built', 'dist/é\n': '644 built' })
  })

  test('CK08 files that match "exclude", and ignored ones that "!" includes are changed', async () => {
    const repo = repository({ '.gitignore': 'build\n', a: '1' })
    repo.write({ 'notes.log': 'old', 'deep/notes.log': 'old', '-x.tmp': 'old', 'build/out': 'old' })
    const { files } = await open(repo.root, { exclude: ['*.log', "it's.tmp", '/-x.tmp', '!build'] })
    const before = await taken(files)
    expect(before.leftOut).toEqual([])
    repo.write({ a: 'turn', 'notes.log': 'turn', 'deep/notes.log': 'turn', '-x.tmp': 'turn', 'build/out': 'turn' })
    repo.write({ 'new.log': 'turn', 'build/new': 'turn' })
    const { restored, deleted, conflicts } = await files.rollback({ before, after: await taken(files) })
    expect({ restored, deleted, conflicts }).toEqual({
      ...{ restored: ['a', 'build/out'], deleted: ['build/new'], conflicts: [] },
    })
    const now = ['notes.log', 'deep/notes.log', '-x.tmp', 'new.log'].map((name) => picture(repo.root)[name])
    expect(now).toEqual(now.map(() => '644 turn'))
  })

  test('CK08 files that cannot be read, which are named: those that never could and those that no longer can', async () => {
    const repo = repository({ a: '1', secret: 's', later: 'l' })
    const { files } = await openWithoutRights(repo.root)
    chmodSync(join(repo.root, 'secret'), 0)
    const before = await taken(files)
    expect(before.leftOut).toEqual([{ path: 'secret', why: 'cannot be read' }])
    repo.write({ a: 'turn', later: 'turn' })
    chmodSync(join(repo.root, 'later'), 0)
    const after = await taken(files)
    expect(after.leftOut.map(({ path }) => path)).toEqual(['later', 'secret'])
    const { restored, conflicts } = await files.rollback({ before, after })
    expect({ restored, conflicts }).toEqual({
      ...{ restored: ['a'], conflicts: [{ path: 'later', why: 'it is unreadable' }] },
    })
    chmodSync(join(repo.root, 'later'), 0o644)
    expect(picture(repo.root)).toMatchObject({ a: '644 1', later: '644 turn' })
  })

  test('CK08 large files, which are named, and repositories inside', async () => {
    const repo = repository({ a: '1' })
    repo.write({ 'large\nfile': 'x'.repeat(2000), 'inner/x': 'inner' })
    execFileSync('git', ['init', '--quiet', join(repo.root, 'inner')], { env: gitEnv })
    const { files } = await open(repo.root, { maxFileBytes: 1000 })
    const before = await taken(files)
    expect([...before.leftOut].sort((x, y) => (x.path < y.path ? -1 : 1))).toEqual([
      { path: 'inner/', why: 'a repository of its own' },
      { path: 'large\nfile', why: 'too large' },
    ])
    repo.write({ 'large\nfile': 'small now', 'inner/x': 'turn', a: 'y'.repeat(1001) })
    const after = await taken(files)
    const { conflicts } = await files.rollback({ before, after })
    expect([...conflicts].sort((x, y) => (x.path < y.path ? -1 : 1))).toEqual([
      { path: 'a', why: 'it is too large' },
      { path: 'large\nfile', why: 'it was left out before, so its earlier content is unknown' },
    ])
    expect(readFileSync(join(repo.root, 'inner/x'), 'utf8')).toBe('turn')
    expect(readFileSync(join(repo.root, 'large\nfile'), 'utf8')).toBe('small now')
  })

  test('CK08 what a turn removed or made that no snapshot has, which is named', async () => {
    const repo = repository({ a: '1' })
    repo.write({ large: 'x'.repeat(2000), back: 'x'.repeat(2000), 'inner/x': 'i', 'placed/x': 'i' })
    for (const one of ['inner', 'placed']) repo.git('init', '--quiet', one)
    const { files } = await open(repo.root, { maxFileBytes: 1000 })
    const before = await taken(files)
    for (const one of ['large', 'back', 'inner', 'placed']) rmSync(join(repo.root, one), { recursive: true })
    repo.write({ a: 'turn', placed: 'a file', more: 'y'.repeat(2000), 'own/x': 'o' })
    repo.git('init', '--quiet', 'own')
    const work = { before, after: await taken(files) }
    repo.write({ back: 'of a person' })
    const { restore, conflicts } = await files.plan(work.before, work.after)
    expect(restore).toEqual(['a'])
    expect(conflicts).toEqual([
      { path: 'inner/', why: 'it is gone, and was left out before (a repository of its own)' },
      { path: 'large', why: 'it is gone, and was left out before (too large)' },
      { path: 'placed/', why: 'it is gone, and was left out before (a repository of its own)' },
      { path: 'more', why: 'it is new, and was left out (too large)' },
      { path: 'own/', why: 'it is new, and was left out (a repository of its own)' },
    ])
    const back = await files.rollback(work)
    expect(back.conflicts).toEqual(conflicts)
    expect((await files.rollback(back.undo)).conflicts).toEqual([])
    // What the work made and removed again was not there before.
    rmSync(join(repo.root, 'more'))
    const works = [work, { before: work.after, after: await taken(files) }]
    expect((await files.planAll(works)).conflicts.map(({ path }) => path)).not.toContain('more')
  })

  test('files behind a link that was created later, inside and outside of the folder', async () => {
    const repo = repository({ 'dir/a': '1', 'dir/b': '2' })
    const outside = scratch()
    writeFileSync(join(outside, 'a'), 'outside a')
    const { files } = await open(repo.root)
    const before = await taken(files)
    repo.write({ 'dir/a': 'turn', 'dir/c': 'turn' })
    rmSync(join(repo.root, 'dir/b'))
    const after = await taken(files)
    rmSync(join(repo.root, 'dir'), { recursive: true })
    writeFileSync(join(outside, 'c'), 'turn') // as the turn left it, but not there
    symlinkSync(outside, join(repo.root, 'dir'))
    const { conflicts } = await files.rollback({ before, after, force: true })
    expect(conflicts.map(({ path, why }) => `${path}: ${why}`)).toEqual([
      'dir/a: it is behind a link',
      'dir/b: it is behind a link',
      'dir/c: it is behind a link',
    ])
    expect(readdirSync(outside).sort()).toEqual(['a', 'c'])
    expect(readFileSync(join(outside, 'a'), 'utf8')).toBe('outside a')
  })

  test('a folder that the turn replaced by a link is restored, and the target of the link stays', async () => {
    const repo = repository({ 'dir/a': '1' })
    const outside = scratch()
    writeFileSync(join(outside, 'a'), 'outside')
    const { files } = await open(repo.root)
    const before = await taken(files)
    rmSync(join(repo.root, 'dir'), { recursive: true })
    symlinkSync(outside, join(repo.root, 'dir'))
    const after = await taken(files)
    expect((await files.rollback({ before, after })).conflicts).toEqual([])
    expect(picture(repo.root)).toEqual({ 'dir/a': '644 1' })
    expect(readFileSync(join(outside, 'a'), 'utf8')).toBe('outside')
  })
})

describe('where a folder is', () => {
  test('CK12 in a mono-repo only its own files are saved and restored; ignore files above it count', async () => {
    const repo = repository({ '.gitignore': '*.log\n', 'pkg/one/a': '1', 'pkg/two/b': '2', c: '3' })
    const { files } = await open(join(repo.root, 'pkg/one'))
    const before = await taken(files)
    repo.write({ 'pkg/one/a': 'turn', 'pkg/one/x/y': 'turn', 'pkg/one/z.log': 'log', 'pkg/two/b': 'other', c: 'other' })
    const after = await taken(files)
    expect(await files.plan(before, after)).toEqual({ restore: ['a'], delete: ['x/y'], conflicts: [] })
    await files.rollback({ before, after })
    expect(picture(repo.root)).toMatchObject({ 'pkg/one/a': '644 1', 'pkg/two/b': '644 other', c: '644 other' })
    expect(existsSync(join(repo.root, 'pkg/one/x'))).toBe(false)
    expect(existsSync(join(repo.root, 'pkg/one/z.log'))).toBe(true)
    rmSync(join(repo.root, 'pkg/one/a'))
    expect(await files.take()).toHaveProperty('tree') // nothing but ignored files is something too
  })

  test('a snapshot of another folder of the repository is refused, and nothing is written', async () => {
    const repo = repository({ a: '1', 'sub/b': '2' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    rmSync(join(repo.root, 'a'))
    const after = await taken(files)
    const other = (await open(join(repo.root, 'sub'))).files
    await expect(other.rollback({ before, after })).rejects.toThrow('it is too old, of another folder')
    expect(existsSync(join(repo.root, 'sub/a'))).toBe(false)
  })

  test('CK12 a repository without a commit, and a worktree', async () => {
    const empty = repository({}, { commit: false })
    const { files } = await open(empty.root)
    const before = await taken(files)
    empty.write({ a: 'x' })
    await files.rollback({ before, after: await taken(files) })
    expect(picture(empty.root)).toEqual({})

    const repo = repository({ a: '1' })
    const tree = join(scratch(), 'tree')
    repo.git('worktree', 'add', '--quiet', tree)
    const linked = (await open(tree)).files
    const start = await taken(linked)
    writeFileSync(join(tree, 'a'), 'turn')
    await linked.rollback({ before: start, after: await taken(linked) })
    expect(readFileSync(join(tree, 'a'), 'utf8')).toBe('1')
    expect(repo.git('status', '--porcelain')).toBe('')
  })

  test('a repository with SHA-256', async () => {
    const root = scratch()
    execFileSync('git', ['init', '--quiet', '--object-format=sha256', root], { env: gitEnv })
    writeFileSync(join(root, 'a'), '1')
    const { files } = await open(root)
    const before = await taken(files)
    writeFileSync(join(root, 'a'), 'turn')
    await files.rollback({ before, after: await taken(files) })
    expect(picture(root)).toEqual({ a: '644 1' })
  })

  test('CK12 in a damaged repository, whatever is damaged', async () => {
    for (const damaged of ['index', 'HEAD', 'config']) {
      const repo = repository({ a: '1' })
      writeFileSync(join(repo.root, '.git', damaged), '[[[ nonsense')
      const { files } = await open(repo.root)
      const before = await taken(files)
      repo.write({ a: 'x', new: 'y' })
      const { restored, deleted } = await files.rollback({ before, after: await taken(files) })
      expect([damaged, restored, deleted]).toEqual([damaged, ['a'], ['new']])
    }
  })

  test('CK12 outside of a repository, in a folder that its repository ignores, and in one whose files are elsewhere', async () => {
    for (const root of [scratch(), ignoredFolder(), withFilesElsewhere()]) {
      writeFileSync(join(root, 'x'), '1')
      const { files } = await open(root)
      const before = await taken(files)
      writeFileSync(join(root, 'x'), 'turn')
      mkdirSync(join(root, 'new'))
      writeFileSync(join(root, 'new/y'), 'turn')
      await files.rollback({ before, after: await taken(files) })
      expect(picture(root)).toEqual({ x: '644 1' })
      expect(existsSync(join(root, 'new'))).toBe(false)
    }
  })

  test('CK12 in a folder that .git/info/exclude of its repository ignores', async () => {
    const repo = repository({ a: '1' })
    repo.write({ '.git/info/exclude': 'build\n', 'build/sub/x': '1' })
    const { files } = await open(join(repo.root, 'build/sub'))
    const before = await taken(files)
    repo.write({ 'build/sub/x': 'turn' })
    await files.rollback({ before, after: await taken(files) })
    expect(readFileSync(join(repo.root, 'build/sub/x'), 'utf8')).toBe('1')
  })

  test.each([
    ['in a bare repository', () => bare(), /inside the .git folder/, '/nowhere'],
    ['in the home folder', () => scratch(), /would be too large/, undefined],
  ])('CK12 %s there is none, and it says why', async (_, make, why, home) => {
    const root = make()
    const { files } = await open(root, {}, { HOME: home ?? root })
    expect(await files.take()).toEqual({ unavailable: expect.stringMatching(why) })
  })

  test('CK06 without git there is no snapshot, and the reason is given', async () => {
    const repo = repository({ a: '1' })
    const bin = scratch()
    for (const name of ['sh', 'tr'])
      symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name))
    const { files } = await open(repo.root, {}, { PATH: bin })
    expect(await files.take()).toEqual({ unavailable: expect.stringContaining('git is not installed') })
  })

  test('a folder with too many files gets no snapshot', async () => {
    const repo = repository({ a: '1', b: '2', c: '3' })
    const { files } = await open(repo.root, { maxFiles: 2 })
    expect(await files.take()).toEqual({ unavailable: expect.stringMatching(/3 files.*maxFiles \(2\)/) })
  })
})

describe('snapshots', () => {
  test('CK09 the newest of them are kept, and a removed one is reported', async () => {
    const repo = repository({ a: '1' })
    const clock = fakeClock(1_700_000_000_000)
    const { files } = await open(repo.root, { keep: 2, maxBytes: 1, clock })
    const first = await taken(files)
    const snapshots: Snapshot[] = []
    for (const text of ['2', '3']) {
      await clock.advance(1000)
      repo.write({ a: text })
      snapshots.push(await taken(files, { tidy: true }))
    }
    repo.git('gc', '--quiet', '--prune=now') // nothing of ours is there
    await expect(files.plan(first, snapshots[1]!)).rejects.toThrow(/is not kept here: it is too old/)
    await expect(files.plan({ ...first, id: '$(touch x)' }, first)).rejects.toThrow('this is no snapshot')
    expect((await files.plan(snapshots[1]!, snapshots[1]!)).conflicts).toEqual([])
  })

  test('CK09 take no more space than their limit, however many are taken, and the newest can be restored', async () => {
    const repo = repository({ a: '1' })
    const maxBytes = 400_000
    const clock = fakeClock(1_700_000_000_000)
    const { files } = await open(repo.root, { maxBytes, clock })
    let last = await taken(files)
    for (let i = 0; i < 8; i++) {
      const before = last
      await clock.advance(1000) // git orders them by the second
      repo.write({ a: randomBytes(50_000).toString('hex'), [`b${i}`]: `${i}` })
      last = await taken(files, { tidy: true })
      const [folder = ''] = readdirSync(store())
      const objects = join(store(), folder, 'objects')
      const inFiles = readdirSync(objects, { recursive: true, encoding: 'utf8' })
        .map((name) => lstatSync(join(objects, name)))
        .filter((one) => one.isFile())
        .reduce((sum, { blocks }) => sum + blocks * 512, 0)
      expect([i, inFiles <= maxBytes]).toEqual([i, true])
      if (i === 7) expect((await files.plan(before, last)).delete).toEqual(['b7'])
    }
  })

  test('survive as plain data, for another process', async () => {
    const repo = repository({ a: '1' })
    const before = await taken((await open(repo.root)).files)
    repo.write({ a: '2' })
    const after = await taken((await open(repo.root)).files)
    const kept = JSON.parse(JSON.stringify({ before, after })) as { before: Snapshot; after: Snapshot }
    await (await open(repo.root)).files.rollback(kept)
    expect(readFileSync(join(repo.root, 'a'), 'utf8')).toBe('1')
  })

  test('of the same files are the same tree; two at once do not disturb each other', async () => {
    const repo = repository({ a: '1' })
    const [one, two] = [(await open(repo.root)).files, (await open(repo.root)).files]
    const all = await Promise.all([one, two, one, two].map((files) => taken(files)))
    expect(new Set(all.map(({ tree }) => tree)).size).toBe(1)
  })

  test('see a change of a file that keeps its size, in the second in which the one before was taken', async () => {
    const repo = repository({ a: '0' })
    const { files } = await open(repo.root)
    const nextSecond = () => new Promise((resolve) => setTimeout(resolve, 1020 - (Date.now() % 1000)))
    const trees = new Set<string>()
    await taken(files)
    await nextSecond()
    repo.write({ a: '-' })
    trees.add((await taken(files)).tree)
    repo.write({ a: '1' }) // git looks at whole seconds and sizes
    await nextSecond()
    trees.add((await taken(files)).tree)
    expect(trees.size).toBe(2)
  })

  test('a damaged private index is created again', async () => {
    const repo = repository({ a: '1' })
    const { files } = await open(repo.root)
    const before = await taken(files)
    const [folder] = readdirSync(store())
    writeFileSync(join(store(), folder!, 'index'), 'rubbish')
    expect((await taken(files)).tree).toBe(before.tree)
  })
})

test('CK18 a snapshot whose script is killed before or after one of its processes has the files that are there, not those of the last one', async () => {
  const repo = repository({ a: '0', b: '0' })
  const [bin, victim] = [scratch(), join(scratch(), 'victim')]
  for (const name of ['git', 'mv']) {
    const program = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    const script = `#!/bin/sh
when=never what=none
[ ! -f '${victim}' ] || read -r when what <'${victim}'
case " ${name} $* " in *" $what "*) rm '${victim}' ;; *) exec '${program}' "$@" ;; esac
[ $when = before ] || '${program}' "$@" >/dev/null
kill -9 0
`
    writeFileSync(join(bin, name), script, { mode: 0o755 })
  }
  const { execution, handle } = await open(repo.root, {}, { PATH: `${bin}:${process.env.PATH}` })
  const files = filesIn({ execution: { exec: execution.exec }, handle }) // an enclosure would not show these programs
  await taken(files)
  for (const what of ['diff-files', 'update-index', 'write-tree', 'commit-tree', 'mv'])
    for (const when of ['before', 'after']) {
      repo.write({ a: `${when} ${what}` })
      writeFileSync(victim, `${when} ${what}\n`)
      const { tree } = await taken(files) // by the second attempt
      repo.git('add', 'a')
      expect([when, what, tree]).toEqual([when, what, repo.git('write-tree').trim()])
      expect(existsSync(victim)).toBe(false)
    }
})

test('CK19 a few changed, new and removed files are in a snapshot after one command; odd names and what needs a second look get another', async () => {
  const odd = ['-delete', 'new\nline', 'quo"te', 'back\\slash', 'ümlaut', ' ', 'D']
  const repo = repository({ ...Object.fromEntries(odd.map((name) => [name, '0'])), 'dir/a': '0', 'dir/b': '0' })
  const { execution, handle } = await open(repo.root)
  let commands = 0
  const counted: Pick<ExecutionContext, 'exec'> = {
    exec(...args) {
      commands++
      return execution.exec(...args)
    },
  }
  const files = filesIn({ execution: counted, handle, maxFileBytes: 1000 })
  await taken(files)
  const cases: readonly (readonly [line: string, commands: number])[] = [
    [':', 1],
    ['for name in ./-* " " ümlaut D; do echo 1 >"$name"; done', 1],
    ['for name in *; do [ -d "./$name" ] || echo 2 >"./$name"; done', 2], // git quotes some of them
    ['echo 1 >-new; echo 1 >"dir/ä b"', 1],
    [`echo 1 >'dir/"'`, 2],
    ['rm ./-delete D ./-new', 1],
    [`rm new* 'dir/"'; echo 2 >" "`, 2],
    ['for i in $(seq 301); do echo $i >"many$i"; done', 2],
    ['rm many*', 2],
    ['ln -s nowhere link', 1],
    ['mv dir .git/dir; ln -s .git/dir dir', 1], // the files that were in the folder are behind a link now
    ['rm ümlaut; mkdir ümlaut; echo 1 >ümlaut/a', 3],
    ['mkdir new; echo 1 >new/a', 3],
    ['echo 3 >" "', 1],
    ['yes large | head -c 2000 >" "', 2],
    ['echo 4 >" "', 2],
    ['echo 5 >" "', 1],
  ]
  for (const [line, count] of cases) {
    execFileSync('sh', ['-c', line], { cwd: repo.root })
    commands = 0
    const { tree, leftOut } = await taken(files)
    repo.git('add', '-A')
    for (const { path } of leftOut) repo.git('update-index', '--force-remove', '--', path)
    expect([line, commands, tree]).toEqual([line, count, repo.git('write-tree').trim()])
    const [own = ''] = readdirSync(store())
    expect(readdirSync(join(store(), own)).filter((name) => /lock|tmp/.test(name))).toEqual([])
  }
})

test('CK20 a snapshot reads each file and each folder once, with two git processes where nothing changed and five where files did', async () => {
  const repo = repository({ a: '1', 'dir/b': '2' })
  const { execution, handle } = await open(repo.root, {}, { GIT_TRACE2: '1' })
  let trace = ''
  const traced: Pick<ExecutionContext, 'exec' | 'type'> = {
    type: execution.type,
    exec: (of, script, options) =>
      execution.exec(of, script, {
        ...options,
        onOutput(text, from) {
          if (from === 'stderr') trace += text
          else options?.onOutput?.(text, from)
        },
      }),
  }
  const files = filesIn({ execution: traced, handle })
  const commands = async (): Promise<string[]> => {
    trace = ''
    await taken(files)
    return [...trace.matchAll(/ cmd_name (\S+)/g)].map(([, name = '']) => name).sort()
  }
  await commands()
  const looking = ['diff-files', 'ls-files']
  expect(await commands()).toEqual(looking)
  repo.write({ a: '3', 'dir/b': '4' })
  expect(await commands()).toEqual([...looking, 'commit-tree', 'update-index', 'write-tree'].sort())
})

test('CK16 settings of git by which a person lets it overlook changes do not hide them from a snapshot', async () => {
  const repo = repository({ a: '1' })
  repo.write({ 'GIT~1': '1' })
  const settings = join(scratch(), 'gitconfig')
  writeFileSync(settings, '[core]\nignoreStat = true\ntrustctime = false\ncheckStat = minimal\nprotectNTFS = true\n')
  const { files } = await open(repo.root, {}, { GIT_CONFIG_GLOBAL: settings })
  const longAgo = new Date('2020-01-01')
  utimesSync(join(repo.root, 'a'), longAgo, longAgo)
  const before = await taken(files)
  await new Promise((resolve) => setTimeout(resolve, 1100)) // git may compare the time of a change in whole seconds only
  repo.write({ a: '2' })
  utimesSync(join(repo.root, 'a'), longAgo, longAgo)
  rmSync(join(repo.root, 'GIT~1'))
  const { restored } = await files.rollback({ before, after: await taken(files) })
  expect([restored, readFileSync(join(repo.root, 'a'), 'utf8')]).toEqual([['GIT~1', 'a'], '1'])
})

test('the index of a large folder is in two files; without one of them it is created again', async () => {
  const repo = repository({})
  repo.write(Object.fromEntries(Array.from({ length: 1100 }, (_, i) => [`d${i % 9}/f${i}`, `${i}`])))
  const { files } = await open(repo.root)
  const before = await taken(files)
  repo.write({ 'd1/f1': 'turn', new: 'turn' })
  const after = await taken(files)
  repo.git('add', '-A')
  expect(after.tree).toBe(repo.git('write-tree').trim())
  const [folder = ''] = readdirSync(store())
  const shared = readdirSync(join(store(), folder)).filter((name) => name.startsWith('sharedindex.'))
  expect(shared).toHaveLength(1)
  rmSync(join(store(), folder, shared[0]!))
  expect((await taken(files)).tree).toBe(after.tree)
  expect(await files.rollback({ before, after })).toMatchObject({ restored: ['d1/f1'], deleted: ['new'], failed: [] })
})

test('a snapshot that takes too long is tried once', async () => {
  const repo = repository({ a: '1' })
  const { execution, handle } = await open(repo.root)
  let commands = 0
  const slow: Pick<ExecutionContext, 'exec'> = {
    exec(...[where, , options]) {
      commands++
      return execution.exec(where, 'sleep 60', { ...options, timeout: 50 })
    },
  }
  const files = filesIn({ execution: slow, handle, timeoutMs: 50 })
  expect(await files.take()).toMatchObject({ unavailable: expect.stringContaining('took longer than 50 ms') })
  expect(commands).toBe(1)
})

describe('CK11 a rollback that is cut off', () => {
  test('CK11 at any of its steps is finished by the next process, and leaves no file half written', async () => {
    const repo = repository({ a: '1', 'dir/b': '2', c: '3' })
    chmodSync(join(repo.root, 'dir/b'), 0o755)
    const { files, execution, handle } = await open(repo.root)
    const before = await taken(files)
    turn()
    const after = await taken(files)
    const [done, changed] = [{ a: '644 1', 'dir/b': '755 2', c: '644 3' }, picture(repo.root)]
    const steps = ['mv -f "$private/journal', 'mkdir "$stage"', 'for given', 'drop*', 'write-tree']
    for (const [i, step] of steps.entries()) {
      let isBegun = false
      let isDead = false
      const dying: Pick<ExecutionContext, 'exec'> = {
        async exec(...args) {
          if (args[1].includes('journal')) isBegun = true
          isDead ||= isBegun && args[1].includes(step)
          if (isDead) throw new Error('power cut')
          return execution.exec(...args)
        },
      }
      const mortal = filesIn({ execution: dying, handle })
      await expect(mortal.rollback({ before, after })).rejects.toThrow('power cut')
      if (i < 3) expect([step, withoutStage(picture(repo.root))]).toEqual([step, changed])
      const interrupted = await files.interrupted('test')
      expect([step, interrupted === undefined]).toEqual([step, i === 0])
      if (interrupted) await files.finish('test')
      expect([step, picture(repo.root)]).toEqual([step, i === 0 ? changed : done])
      await files.end('test')
      expect(await files.interrupted('test')).toBeUndefined()
      turn()
    }

    function turn(): void {
      repo.write({ a: 'turn', new: 'x', 'c2/d': 'y' })
      rmSync(join(repo.root, 'dir'), { recursive: true, force: true })
      rmSync(join(repo.root, 'c'))
      symlinkSync('a', join(repo.root, 'c'))
    }
  }, 120_000)
})

const withoutStage = (files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).filter(([name]) => !name.startsWith('.libero-rollback')))

test('after random edits the tree is what it was before them', async () => {
  const seed = Math.floor(Math.random() * 1000)
  const random = randomOf(seed)
  const repo = repository({ '.gitignore': 'ignored*\n', seed: 's' })
  const { files } = await open(repo.root)
  const names = ['a', 'b', 'd/a', 'd/e/f', 'd/e/g', 'l', 'x y', 'ignored1', 'd/ignored2', 'é']
  for (let round = 0; round < rounds(2, 8); round++) {
    edit(4)
    const before = await taken(files)
    const state = visible()
    edit(1 + Math.floor(random() * 8))
    const after = await taken(files)
    const changed = visible()
    const ignored = hidden()
    const { conflicts, failed, undo } = await files.rollback({ before, after })
    expect([seed, round, conflicts, failed]).toEqual([seed, round, [], []])
    expect([seed, round, visible()]).toEqual([seed, round, state])
    for (const [name, was] of Object.entries(ignored)) expect([round, name, hidden()[name]]).toEqual([round, name, was])
    await files.rollback(undo)
    expect([round, visible()]).toEqual([round, changed])
  }

  function edit(steps: number): void {
    for (let i = 0; i < steps; i++) {
      const name = names[Math.floor(random() * names.length)]!
      const path = join(repo.root, name)
      // What is ignored stays where it is: a folder with such a file cannot become a file again.
      const isKept = hasIgnored(path)
      const dice = random()
      if (dice < 0.25 && !isKept) rmSync(path, { recursive: true, force: true })
      else if (dice < 0.35 && existsSync(path) && !lstatSync(path).isDirectory() && !lstatSync(path).isSymbolicLink())
        chmodSync(path, lstatSync(path).mode & 0o100 ? 0o644 : 0o755)
      else if (!isKept) put(path, dice > 0.85 && !name.includes('ignored'))
    }
  }

  function put(path: string, isLink: boolean): void {
    for (let above = dirname(path); above.length > repo.root.length; above = dirname(above))
      if (lstatSync(above, { throwIfNoEntry: false })?.isDirectory() === false) rmSync(above)
    rmSync(path, { recursive: true, force: true })
    mkdirSync(dirname(path), { recursive: true })
    if (isLink) symlinkSync(random() < 0.5 ? 'd' : '/nowhere', path)
    else writeFileSync(path, `${Math.floor(random() * 5)}`)
  }

  function hasIgnored(path: string): boolean {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return false
    return Object.keys(hidden()).some((name) => join(repo.root, name).startsWith(`${path}/`))
  }

  function isHidden(name: string): boolean {
    return name.includes('ignored')
  }
  function part(which: (name: string) => boolean): Record<string, string> {
    return Object.fromEntries(Object.entries(picture(repo.root)).filter(([name]) => which(name)))
  }
  function visible(): Record<string, string> {
    return part((name) => !isHidden(name))
  }
  function hidden(): Record<string, string> {
    return part(isHidden)
  }
}, 120_000)

const gitEnv = {
  ...process.env,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.org',
}

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-rollback-')))
  made.push(folder)
  return folder
}

function repository(files: Readonly<Record<string, string>>, { commit = true } = {}) {
  const root = join(scratch(), 'repo')
  mkdirSync(root)
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, env: gitEnv, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const write = (more: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(more)) {
      mkdirSync(dirname(join(root, name)), { recursive: true })
      writeFileSync(join(root, name), text)
    }
  }
  git('init', '--quiet', '--initial-branch=main')
  write(files)
  git('add', '-A')
  if (commit) git('commit', '--quiet', '--allow-empty', '-m', 'first')
  return { root, git, write }
}

function bare(): string {
  const root = scratch()
  execFileSync('git', ['init', '--quiet', '--bare', root], { env: gitEnv })
  return root
}

function ignoredFolder(): string {
  const { root, write } = repository({ '.gitignore': 'build\n' })
  write({ 'build/x': 'x' })
  return join(root, 'build')
}

function withFilesElsewhere(): string {
  const { root, git } = repository({})
  git('config', 'core.worktree', scratch())
  return root
}

async function open(cwd: string, options: Partial<FileSnapshotsOptions> = {}, env: Record<string, string> = {}) {
  const execution = createProcessContext({
    cwd,
    env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', ...env },
  })
  const handle = await execution.spawn()
  contexts.push(() => execution.destroy(handle))
  return { execution, handle, files: filesIn({ execution, handle, ...options }) }
}

/** As another user if this one is root, who can read everything. */
async function openWithoutRights(root: string) {
  const { execution, handle } = await open(root)
  if (process.getuid?.() !== 0) return { files: filesIn({ execution, handle }) }
  for (const folder of [dirname(root), store()]) execFileSync('chown', ['-R', '65534:65534', folder])
  const env = { ...gitEnv, HOME: '/nonexistent' }
  const unprivileged: Pick<ExecutionContext, 'exec'> = {
    async exec(_, script, { input = '' } = {}) {
      const run = spawnSync('sh', ['-c', script], { cwd: root, env, input, uid: 65534, gid: 65534, encoding: 'utf8' })
      return { stdout: run.stdout, stderr: run.stderr, exitCode: run.status ?? 1 }
    },
  }
  return { files: filesIn({ execution: unprivileged, handle }) }
}

let storeFolder: string | undefined
function store(): string {
  storeFolder ??= scratch()
  return storeFolder
}

interface OneRollback extends Work {
  readonly force?: boolean
}

/** Snapshots of one session. */
function filesIn(options: FileSnapshotsOptions) {
  const files = createFileSnapshots({ store: store(), ...options })
  return {
    ...files,
    take: (more: { readonly tidy?: boolean } = {}) => files.take({ owner: 'test', ...more }),
    plan: (before: Snapshot, after: Snapshot) => files.plan([{ before, after }]),
    planAll: files.plan,
    rollback: ({ before, after, force = false }: OneRollback) =>
      files.rollback([{ before, after }], { owner: 'test', force }),
  }
}

async function taken(files: ReturnType<typeof filesIn>, options = {}): Promise<Snapshot> {
  const snapshot = await files.take(options)
  if ('unavailable' in snapshot) throw new Error(snapshot.unavailable)
  return snapshot
}
