import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { programSources, submodulesOf } from './git-programs.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-git-programs-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A workspace with these files; git takes `n/.git` for a git folder. */
function workspace(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(folder, 'w-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), text)
  }
  return root
}

const namesAt = (root: string, path: string): string[] =>
  programSources(join(root, path), { mayBeChanged: () => true }).flatMap(({ names }) => names)

const evil = '[core]\n\tfsmonitor = ./evil\n'

describe('what makes git run programs in a repository', () => {
  test.each([
    ['core.pager', '[core]\n\tpager = x\n'],
    ['filter.a.b.clean', '[filter "a.b"] clean=x'],
    ['include.path', '[include]\n\tpath = more'],
    ['includeif.gitdir:x.path', '[includeIf "gitdir:x"]\n\tpath = more'],
    ['browser.x.path', '[browser "x"]\n\tpath = x'],
    ['sendemail.smtpserver', '[sendemail]\n\tsmtpServer = /x'],
    ['http.cookiefile', '[http]\n\tcookieFile = /x'],
    ['lfs.customtransfer.x.path', '[lfs "customtransfer.x"]\n\tpath = x'],
    ['submodule.x.update', '[submodule "x"]\n\tupdate = !x'],
    ['protocol.ext.allow', '[protocol "ext"]\n\tallow = always'],
    ['core.worktree', '[core]\n\tworktree = /home'],
  ])('%s', (key, config) => {
    expect(namesAt(workspace({ 'n/.git/config': config }), 'n/.git')).toEqual([key])
  })

  test('not what git itself writes when it makes, clones or divides a repository', () => {
    const root = workspace({ 'from/a': 'a' })
    const own = ['-c', 'user.name=a', '-c', 'user.email=a', '-c', 'protocol.file.allow=always']
    const git = (...args: string[]): void =>
      void execFileSync('git', [...own, ...args], {
        cwd: root,
        stdio: 'ignore',
        env: { PATH: process.env.PATH, HOME: root },
      })
    for (const name of ['from', 'outer']) {
      git('init', '-q', name)
      git('-C', name, 'add', '.')
      git('-C', name, 'commit', '-q', '--allow-empty', '-m', 'one')
    }
    git('-C', 'outer', 'submodule', '--quiet', 'add', join(root, 'from'), 'sub')
    git('-C', 'outer', 'commit', '-qm', 'two')
    git('clone', '-q', '--recurse-submodules', 'outer', 'copy')
    git('-C', 'copy', 'sparse-checkout', 'init', '--cone')
    git('-C', 'copy', 'worktree', 'add', '-q', '../tree')
    git('init', '-q', '--separate-git-dir', 'elsewhere', 'apart')
    git('clone', '-q', '--bare', 'from', 'bare')
    expect(readFileSync(join(root, 'copy/.git/modules/sub/config'), 'utf8')).toContain('worktree')
    const all = ['from', 'outer', 'outer/sub', 'copy', 'copy/sub', 'tree', 'apart'].map((name) => `${name}/.git`)
    for (const path of [...all, 'bare']) expect(`${path}: ${namesAt(root, path)}`).toBe(`${path}: `)
  })

  test('a config that is in another folder than the repository', () => {
    const root = workspace({ '.git/store/config': evil, 'n/.git': 'gitdir: ../.git/store\n' })
    expect(namesAt(root, 'n/.git')).toEqual(['core.fsmonitor'])
    const shared = workspace({ '.s/config': evil, 'docs/HEAD': '', 'docs/commondir': '../.s\n' })
    expect(namesAt(shared, 'docs')).toEqual(['core.fsmonitor'])
    const both = workspace({ '.s/config': evil, '.g/commondir': '../.s', 'n/.git': 'gitdir: ../.g' })
    expect(namesAt(both, 'n/.git')).toEqual(['core.fsmonitor'])
    const linked = workspace({ '.s/config': evil, 'n/a': '' })
    symlinkSync('../.s', join(linked, 'n/.git'))
    expect(namesAt(linked, 'n/.git')).toEqual(['core.fsmonitor'])
    const lineBreak = workspace({ 'a\nb/config': evil, 'n/.git': 'gitdir: ../a\nb\n' })
    expect(namesAt(lineBreak, 'n/.git')).toEqual(['core.fsmonitor'])
  })

  test('a config of a worktree, hooks, and a config that is too long or no file', () => {
    expect(namesAt(workspace({ 'n/.git/config.worktree': evil }), 'n/.git')).toEqual(['core.fsmonitor'])
    const hooks = workspace({ 'n/.git/hooks/pre-commit': '', 'n/.git/hooks/x.sample': '', 'n/.git/hooks/f/x': '' })
    expect(namesAt(hooks, 'n/.git')).toEqual(['hooks/pre-commit'])
    const long = workspace({ 'n/.git/config': `${'#\n'.repeat(140_000)}${evil}` })
    expect(namesAt(long, 'n/.git')).toEqual(['config, which cannot be read whole'])
    const many = workspace({ 'n/.git/config': `[${'a'.repeat(50_000)}]\n${'a\n'.repeat(100_000)}${evil}` })
    expect(namesAt(many, 'n/.git')).toEqual(['config, which cannot be read whole'])
    const pipe = workspace({ 'n/.git/HEAD': '' })
    execFileSync('mkfifo', [join(pipe, 'n/.git/config')])
    expect(namesAt(pipe, 'n/.git')).toEqual(['config, which cannot be read whole'])
  })

  test('a config, hooks or modules behind a link, as links on the way are not protected', () => {
    const root = workspace({ c: '[user]\n\tname = a\n', 'h/x.sample': '', 'n/.git/HEAD': '', 'm/a': '' })
    for (const [to, at] of [
      ['c', 'config'],
      ['h', 'hooks'],
      ['m', 'modules'],
    ])
      symlinkSync(`../../${to}`, join(root, 'n/.git', at!))
    expect(namesAt(root, 'n/.git')).toEqual(['config, which is a link', 'hooks, which is a link'])
    const { tooMany } = submodulesOf(join(root, 'n/.git'), () => true)
    expect(tooMany.map(({ names }) => names)).toEqual([['modules, which is a link']])
  })

  test('the git folders of submodules, checked out or not', () => {
    const head = { HEAD: '', 'objects/x': '', 'refs/x': '' }
    const at = (folder: string): Record<string, string> =>
      Object.fromEntries(Object.entries(head).map(([name, text]) => [`n/.git/modules/${folder}/${name}`, text]))
    const root = workspace({ ...at('a'), ...at('a/b'), ...at('a/modules/c'), ...at('d/e/f') })
    const { found, tooMany } = submodulesOf(join(root, 'n/.git'), () => true)
    const modules = join(root, 'n/.git/modules')
    expect(found.map((path) => path.slice(modules.length + 1)).sort()).toEqual(['a', 'a/b', 'a/modules/c', 'd/e/f'])
    expect(tooMany).toEqual([])
    for (let i = 0; i < 2001; i++) mkdirSync(join(modules, `x${i}`))
    expect(submodulesOf(join(root, 'n/.git'), () => true).tooMany).toHaveLength(1)
    writeFileSync(join(modules, 'a/config'), '[core]\n\tworktree = ../../../a\n')
    const how = { mayBeChanged: () => true }
    expect(programSources(join(modules, 'a'), { ...how, outerTree: join(root, 'n') })).toEqual([])
    expect(programSources(join(modules, 'a'), { ...how, outerTree: join(root, 'n/a') })).toHaveLength(1)
    expect(programSources(join(modules, 'a'), how)).toHaveLength(1)
  })

  test('the rest of a config is what git reads as the same settings without them', () => {
    const config = `[core]\n\tfsmonitor = x\n\tbare = false\n[remote "a \\"b\\\\ c.d"]\n\turl = "x # y" \\"\\\\ \n[user]name=é\\tb\\n;c\n[alias]\n\tx = !x`
    const root = workspace({ 'n/.git/config': config })
    const [source] = programSources(join(root, 'n/.git'), { mayBeChanged: () => true })
    writeFileSync(join(root, 'rest'), source!.rest!)
    const settings = (file: string): string[] =>
      execFileSync('git', ['config', '-z', '-l', '-f', join(root, file)], { encoding: 'utf8' }).split('\0')
    const wanted = settings('n/.git/config').filter((one) => !/^(core\.fsmonitor|alias)/.test(one))
    expect(wanted).toHaveLength(4)
    expect(settings('rest')).toEqual(wanted)
  })
})
