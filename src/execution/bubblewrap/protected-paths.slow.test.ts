import { chmodSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { hasPlaceholderMark } from '../files/placeholder-folders.ts'
import { gitFolders } from './git.ts'
import { createPlaceholders } from './placeholders.ts'
import { protectedNames, protectionOf, watchedIn, watchedNames } from './protected-paths.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'libero-protected-test-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

/** The folder of the others is missing too. */
const watchedAtTop = watchedNames.filter((name) => !name.includes('/'))

const at = (...names: string[]): string[] => names.map((name) => join(root, name))

describe('what is protected in a folder', () => {
  test('FS-11 in an empty one, that nothing of it comes into being', () => {
    const { existing, pinned, missing, watched } = protectionOf(root, { free: [root] })
    expect({ existing, pinned, watched }).toEqual({ existing: [], pinned: [], watched: at(...watchedAtTop) })
    expect(missing).toEqual(expect.arrayContaining(at('.git', '.github', '.vscode', '.npmrc', '.libero', '.bashrc')))
    expect(missing).toHaveLength(new Set(['.git', ...protectedNames.map((name) => name.split('/')[0])]).size)
  })

  test('FS-10 what is there, with the folders above it kept in place', () => {
    make('.git/config', '.git/objects/', '.git/worktrees/w/commondir', '.github/other', '.vscode/tasks.json', '.npmrc')
    const { existing, pinned, missing, watched } = protectionOf(root, { free: [root] })
    expect(existing.toSorted()).toEqual(at('.git/config', '.git/worktrees/w/commondir', '.npmrc', '.vscode'))
    expect(pinned.toSorted()).toEqual(at('.git', '.git/worktrees', '.git/worktrees/w', '.github'))
    expect(missing).toEqual(expect.arrayContaining(at('.git/hooks', '.git/info', '.git/modules', '.github/workflows')))
    expect(missing).not.toEqual(expect.arrayContaining(at('.git')))
    expect(watched).toEqual(
      at(...watchedAtTop, '.git/commondir', '.git/config.worktree', '.git/worktrees/w/config.worktree'),
    )
  })

  test('a `.git` that is a file, and a root that is a git folder itself', () => {
    make('.git')
    expect(protectionOf(root, { free: [root] }).existing).toEqual(at('.git'))
    make('bare/HEAD', 'bare/objects/', 'bare/refs/', 'bare/config', 'bare/hooks/x')
    const bare = join(root, 'bare')
    expect(protectionOf(bare, { free: [bare] }).existing).toEqual(at('bare/config', 'bare/hooks'))
    expect(protectionOf(bare, { free: [bare] }).missing).toEqual(expect.arrayContaining(at('bare/.vscode')))
  })

  test('the same in a project to which a command gave the names of a git folder', () => {
    make('.git/config', '.vscode/tasks.json', 'HEAD', 'objects/', 'refs/')
    expect(protectionOf(root, { free: [root] }).existing).toEqual(at('.vscode', '.git/config'))
  })

  test('in the home folder whatever has a name with a dot, and own programs, but for caches', () => {
    vi.stubEnv('HOME', root)
    onTestFinished(() => void vi.unstubAllEnvs())
    make('.config/fish/x', '.zim/x', 'bin/x', '.npm/x', '.cache/pip/x', '.cache/libero/x', 'notes/x')
    const { existing, watched } = protectionOf(root, { free: [root] })
    expect(existing.toSorted()).toEqual(at('.cache/libero', '.config', '.zim', 'bin'))
    expect(watched).toEqual(expect.arrayContaining(at('.local', '.pam_environment')))
    expect(watchedIn(root, [])).toEqual(expect.arrayContaining(at('.local', '.pam_environment', 'bin')))
  })

  test('the hooks that a config names, when they lie inside', () => {
    make('.git/config', 'tools/hooks/x')
    writeFileSync(join(root, '.git/config'), '[core]\n\thooksPath = "tools/hooks"\n[x]\n hookspath=/etc\n')
    const { existing, pinned } = protectionOf(root, { free: [root] })
    expect(existing.toSorted()).toEqual(at('.git/config', 'tools/hooks'))
    expect(pinned).toEqual(expect.arrayContaining(at('tools')))
  })

  test('not what is named as free', () => {
    make('.vscode/x', '.npmrc')
    const { existing, missing } = protectionOf(root, { free: [root, ...at('.vscode', '.envrc')] })
    expect(existing).toEqual(at('.npmrc'))
    expect(missing).not.toEqual(expect.arrayContaining(at('.envrc')))
  })

  test('what a link in its place leads to, with the folders above it; links that lead nowhere are no trouble', () => {
    make('real/agents/x', 'other')
    symlinkSync('real/agents', join(root, '.claude'))
    symlinkSync('other', join(root, '.yarnrc.yml'))
    symlinkSync('.codex', join(root, '.codex'))
    symlinkSync('/etc', join(root, '.vscode'))
    symlinkSync('later', join(root, '.npmrc'))
    const { existing, pinned, missing, links } = protectionOf(root, { free: [root] })
    expect(existing.toSorted()).toEqual(at('other', 'real/agents'))
    expect(pinned).toEqual(at('real'))
    expect(missing).toEqual(expect.arrayContaining(at('later')))
    expect(links.toSorted()).toEqual(at('.claude', '.codex', '.npmrc', '.vscode', '.yarnrc.yml'))
  })

  test('repositories further inside are found, not in every depth', async () => {
    make('.git/config', 'a/.git/config', 'a/b/c/.git', 'a/b/c/d/e/.git/config', 'node_modules/x/.git/config')
    const nested = await gitFolders(root).find()
    expect(nested.sort()).toEqual(at('a/.git', 'a/b/c/.git'))
    const { existing, pinned } = protectionOf(root, { free: [root], nested })
    expect(existing.toSorted()).toEqual(at('.git/config', 'a/.git/config', 'a/b/c/.git'))
    expect(pinned).toEqual(expect.arrayContaining(at('a', 'a/.git', 'a/b', 'a/b/c')))
    await rm(join(root, 'a'), { recursive: true })
    expect(protectionOf(root, { free: [root], nested }).existing).toEqual(at('.git/config'))
  })

  test('a repository that is made later is found, also when the time of its folder is set back', async () => {
    make('a/b/')
    const repositories = gitFolders(root)
    expect(await repositories.find()).toEqual([])
    make('a/b/.git/config')
    utimesSync(join(root, 'a/b'), 0, 0)
    expect(await repositories.find()).toEqual(at('a/b/.git'))
  })

  test('every folder of hooks and every file of config that a config names, however it is written', () => {
    make('.git/config', 'inc/hooks/', 'inc/one')
    writeFileSync(
      join(root, '.git/config'),
      '[core] hooksPath = .a # c\n[Core]\n\thookspath = ".b#" ; c\n[core]hooksPath=\\\n.c\n[include] path = ../inc/one\n[includeIf "gitdir:x"]\n path = ../inc/two\n',
    )
    writeFileSync(join(root, 'inc/one'), '[core]\nhooksPath = inc/missing')
    const { existing, missing, pinned } = protectionOf(root, { free: [root] })
    expect(missing).toEqual(expect.arrayContaining(at('.a', '.b#', '.c', 'inc/missing')))
    expect(missing).not.toEqual(expect.arrayContaining(at('inc/two')))
    expect(watchedIn(root, [])).toEqual(expect.arrayContaining(at('inc/two')))
    expect(existing).toEqual(expect.arrayContaining(at('inc/one')))
    expect(pinned).toEqual(expect.arrayContaining(at('inc')))
  })

  test('also when `.git` is a file that names the real folder', () => {
    make('work/', 'real/worktrees/w/', 'work/conf')
    writeFileSync(join(root, 'work/.git'), `gitdir: ${join(root, 'real/worktrees/w')}\n`)
    writeFileSync(join(root, 'real/worktrees/w/commondir'), '../..\n')
    writeFileSync(join(root, 'real/config'), '[core]\nhooksPath = .mine\n')
    const work = join(root, 'work')
    expect(protectionOf(work, { free: [work] }).missing).toEqual(expect.arrayContaining(at('work/.mine')))
  })

  test('the folder that a file `commondir` names: beside a HEAD it makes any folder a git folder', async () => {
    make('.store/hooks/x', 'docs/HEAD', 'docs/commondir', 'top/HEAD', 'top/commondir', 'top/.s/hooks/x')
    writeFileSync(join(root, 'docs/commondir'), '../.store\n')
    writeFileSync(join(root, '.store/config'), '')
    const nested = await gitFolders(root).find()
    expect(nested).toEqual(expect.arrayContaining(at('docs')))
    expect(protectionOf(root, { free: [root], nested }).existing).toEqual(
      expect.arrayContaining(at('.store/config', '.store/hooks', 'docs/commondir')),
    )
    const top = join(root, 'top')
    writeFileSync(join(top, 'commondir'), '.s')
    expect(protectionOf(top, { free: [top] }).existing).toEqual(at('top/commondir', 'top/.s/hooks'))
    expect(watchedIn(root, nested)).toEqual(expect.arrayContaining(at('docs/config.worktree', 'docs/commondir')))
  })

  test('the folder that a `.git` file names, found as the system finds it', async () => {
    make('n/', 'elsewhere/deep/', 'elsewhere/store/hooks/x', 'store/hooks/x', 'm/', '.git/store/hooks/x')
    symlinkSync('../elsewhere/deep', join(root, 'n/link'))
    writeFileSync(join(root, 'n/.git'), 'gitdir: link/../store\n')
    writeFileSync(join(root, 'm/.git'), 'gitdir: ../.git/store')
    const nested = await gitFolders(root).find()
    const { existing } = protectionOf(root, { free: [root], nested })
    expect(existing).toEqual(
      expect.arrayContaining(at('n/.git', 'm/.git', 'elsewhere/store/hooks', '.git/store/hooks')),
    )
    expect(existing).not.toEqual(expect.arrayContaining(at('store/hooks')))
  })

  test('what is in a folder that is read-only as a whole needs nothing of its own', async () => {
    make('.git/modules/sub/hooks/x', '.git/modules/sub/config', 'sub/')
    writeFileSync(join(root, 'sub/.git'), 'gitdir: ../.git/modules/sub\n')
    const nested = await gitFolders(root).find()
    const { existing, missing } = protectionOf(root, { free: [root], nested })
    expect(existing.toSorted()).toEqual(at('.git/modules', 'sub/.git'))
    expect(missing.filter((path) => path.includes('/sub'))).toEqual([])
  })

  test('a link among the files of worktrees has no business there', () => {
    make('.git/config', '.git/worktrees/e/')
    symlinkSync('x', join(root, '.git/worktrees/e/commondir'))
    symlinkSync('e', join(root, '.git/worktrees/f'))
    expect(protectionOf(root, { free: [root] }).misplacedLinks.toSorted()).toEqual(
      at('.git/worktrees/e/commondir', '.git/worktrees/f'),
    )
  })
})

describe('what stands in for missing files', () => {
  test('is there while any command needs it, and then gone', async () => {
    const [one, other] = [createPlaceholders(), createPlaceholders()]
    const { release } = await one.hold(at('.a', '.b'))
    const { release: again } = await one.hold(at('.a'))
    const { release: releaseOther } = await other.hold(at('.a'))
    expect(readdirSync(root)).toEqual(['.a', '.b'])
    release()
    await one.removeUnneeded()
    expect(readdirSync(root)).toEqual(['.a'])
    again()
    await one.removeUnneeded()
    expect(readdirSync(root)).toEqual(['.a'])
    expect(hasPlaceholderMark(join(root, '.a'))).toBe(true)
    releaseOther()
    await other.removeUnneeded()
    expect(readdirSync(root)).toEqual([])
  })

  test('counts as missing', async () => {
    const placeholders = createPlaceholders()
    const before = protectionOf(root, { free: [root] })
    const { release } = await placeholders.hold(before.missing)
    expect(protectionOf(root, { free: [root] })).toEqual(before)
    expect(protectionOf(root, { free: [root], placeholders })).toEqual(before)
    release()
    await placeholders.removeUnneeded()
    expect(readdirSync(root)).toEqual([])
  })

  test('leaves an empty folder that was there before', async () => {
    make('.vscode/')
    expect(protectionOf(root, { free: [root] }).missing).toEqual(expect.arrayContaining(at('.vscode')))
    const placeholders = createPlaceholders()
    for (let n = 0; n < 2; n++) {
      const { release } = await placeholders.hold(at('.vscode', '.idea'))
      release()
    }
    await placeholders.removeUnneeded()
    expect(readdirSync(root)).toEqual(['.vscode'])
    expect(readdirSync(join(root, '.vscode'))).toEqual([])
  })

  test('many at once leave nothing behind', async () => {
    const contexts = [createPlaceholders(), createPlaceholders()]
    const use = async (placeholders: (typeof contexts)[0]) => {
      for (let n = 0; n < 15; n++) {
        const { missing } = protectionOf(root, { free: [root], placeholders })
        // What another one has just made, and not marked yet, is there for this moment, and protected as such.
        expect(missing.length).toBeGreaterThan(0)
        const { release } = await placeholders.hold(missing)
        release()
        if (n % 3 === 0) await placeholders.removeUnneeded()
      }
      await placeholders.removeUnneeded()
    }
    await Promise.all([...contexts, ...contexts, ...contexts].map(use))
    for (const placeholders of contexts) await placeholders.removeUnneeded()
    expect(readdirSync(root)).toEqual([])
  })

  test('never removes files of others', async () => {
    const placeholders = createPlaceholders()
    const { release } = await placeholders.hold(at('.vscode', '.idea'))
    make('.vscode/settings.json')
    release()
    await placeholders.removeUnneeded()
    expect(readdirSync(root)).toEqual(['.vscode'])
    expect(readdirSync(join(root, '.vscode'))).toEqual(['settings.json'])
    expect(hasPlaceholderMark(join(root, '.vscode'))).toBe(false)
  })

  test('is created again after it was removed', async () => {
    const placeholders = createPlaceholders()
    const { release } = await placeholders.hold(at('.a'))
    await rm(join(root, '.a'), { recursive: true })
    const { release: again } = await placeholders.hold(at('.a'))
    expect(hasPlaceholderMark(join(root, '.a'))).toBe(true)
    release()
    again()
    await placeholders.removeUnneeded()
    expect(readdirSync(root)).toEqual([])
  })

  test('a folder that is not there is an error, and nothing stays', async () => {
    const placeholders = createPlaceholders()
    await expect(placeholders.hold(at('.a', 'none/.b'))).rejects.toThrow(/Cannot keep protected files.*none/)
    await placeholders.removeUnneeded()
    expect(readdirSync(root)).toEqual([])
  })
})

test.skipIf(process.getuid?.() === 0)(
  'where we may not write, nothing stands in (skipped for root, who may)',
  async () => {
    make('locked/')
    chmodSync(join(root, 'locked'), 0o555)
    const { paths } = await createPlaceholders().hold(at('locked/.a'))
    expect(paths).toEqual([])
  },
)

/** Folders end with a slash. */
function make(...names: string[]): void {
  for (const name of names) {
    const path = join(root, name)
    mkdirSync(name.endsWith('/') ? path : join(path, '..'), { recursive: true })
    if (!name.endsWith('/')) writeFileSync(path, '')
  }
}
