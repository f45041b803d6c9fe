import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, git, workspaceWrite, write } from '../../../test/confinement-kit.ts'
import { gitFolders } from './git.ts'

describe.skipIf(unavailable)(`repositories that are easily overlooked${skipped}`, () => {
  const bareAtTop = 'git init -q --bare e && git --git-dir e config core.fsmonitor ./evil && mv e/* .'

  test('S06 a workspace that a command makes into a bare repository is told of, and then protected', async () => {
    const { run, cwd } = await place()
    const { stderr } = await run(bareAtTop)
    expect(stderr).toContain(`${cwd} is new, and git would run programs there (core.fsmonitor)`)
    const again = await run('echo x >> config || echo refused')
    expect(again).toMatchObject({ stdout: 'refused\n', stderr: expect.not.stringContaining('is new') })
  })

  test('S06 a repository that a command makes many folders deep is told of, once', async () => {
    const { run, cwd } = await confinedPlace()
    write(cwd, {
      'old/b/c/d/e/.git/config': '[alias]\n\tx = !x\n',
      'lib/site-packages/x/y/.git/config': '[alias]\n\tx = !x\n',
    })
    const deep = 'a/b/c/d/e/f'
    const made = await run(
      `mkdir -p ${deep} && git init -q ${deep} && git -C ${deep} config gc.recentObjectsHook ./evil`,
      workspaceWrite,
    )
    const notes = made.stderr.match(/\S+ is new, and git would run programs there \(.*?\)/g)
    expect(notes).toEqual([`${cwd}/${deep}/.git is new, and git would run programs there (gc.recentobjectshook)`])
    expect((await run('true', workspaceWrite)).stderr).toBe('')
  })

  const commit = 'git -c user.name=a -c user.email=a commit -q --allow-empty -m x'

  test('W01 a new repository keeps its other settings, and what was taken out of it lies beside', async () => {
    const { run, cwd } = await confinedPlace()
    git(cwd, 'init', '-q')
    const made = await run(
      `git init -q n; cd n; ${commit}; git config remote.origin.url ../r; git config core.fsmonitor ./evil; cp /bin/true .git/hooks/pre-push; cd ..; git update-index --add --cacheinfo 160000,$(git -C n rev-parse HEAD),n`,
      workspaceWrite,
    )
    const [config, hooks] = ['config', 'hooks'].map((name) =>
      readdirSync(join(cwd, 'n/.git')).find((one) => one.startsWith(`${name}.replaced-`)),
    )
    expect(made.stderr.split('\n').filter((line) => line.startsWith('[sandbox]'))).toEqual([
      `[sandbox] ${cwd}/n/.git is new, and git would run programs there (core.fsmonitor, hooks/pre-push): these settings were taken out, and all of them are in ${cwd}/n/.git/${config}; its hooks are now in ${cwd}/n/.git/${hooks}. Look at them before you put them back: git used there or in ${cwd} (its index lists it) runs them then`,
    ])
    const settings = git(cwd, 'config', '-l', '-f', 'n/.git/config')
    expect(settings).toContain('remote.origin.url=../r')
    expect(settings).not.toContain('fsmonitor')
    expect(git(cwd, 'config', '-f', `n/.git/${config}`, 'core.fsmonitor')).toBe('./evil\n')
    expect(readdirSync(join(cwd, `n/.git/${hooks}`))).toContain('pre-push')
    const again = await run('git -C n config core.fsmonitor ./evil || echo refused', workspaceWrite)
    expect(again).toMatchObject({ stdout: 'refused\n', stderr: expect.not.stringContaining('is new') })
  })

  test('W01 a repository that is only made, or cloned with its submodules, stays as it is', async () => {
    const { run, cwd } = await confinedPlace()
    const local = '-c user.name=a -c user.email=a -c protocol.file.allow=always'
    const made = await run(
      `git init -q a; cd a; ${commit}; cd ..; git init -q b; cd b; ${commit}; git ${local} submodule --quiet add ../a sub; git ${local} commit -qm sub; cd ..; git ${local} clone -q --recurse-submodules b c; git -C c submodule --quiet deinit -f sub; git clone -q --bare a d.git; sha256sum */.git/config d.git/config c/.git/modules/sub/config > before`,
      workspaceWrite,
    )
    expect(made).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('[sandbox]') })
    expect((await run('sha256sum -c --quiet before', workspaceWrite)).stdout).toBe('')
    expect(git(join(cwd, 'c'), 'submodule', 'status')).toMatch(/^-[0-9a-f]+ sub/)
  })

  test('W01 a command whose time is up takes its new repositories with it', async () => {
    const { run, cwd } = await confinedPlace()
    const how = { timeout: 1500 }
    await run('git init -q n; git -C n config core.fsmonitor ./evil; echo > made; sleep 20', workspaceWrite, how)
    expect(existsSync(join(cwd, 'made'))).toBe(true)
    expect(readFileSync(join(cwd, 'n/.git/config'), 'utf8')).not.toContain('fsmonitor')
  })

  test('W01 what another command makes of a repository that is new to it is seen at its end', async () => {
    const { run, cwd } = await confinedPlace()
    write(cwd, { 'a/b': '' })
    const slow = run(
      'while [ ! -e go ]; do sleep 0.02; done; git -C n config core.fsmonitor ./evil && echo changed',
      workspaceWrite,
    )
    await run('git init -q n', workspaceWrite)
    await run('true', workspaceWrite)
    write(cwd, { go: '' })
    expect(await slow).toMatchObject({ stdout: 'changed\n', stderr: expect.stringContaining('n/.git is new') })
    expect(readFileSync(join(cwd, 'n/.git/config'), 'utf8')).not.toContain('fsmonitor')
  })

  test('W01 repositories of the person stay as they are, also where a command makes a way to them', async () => {
    const { run, cwd } = await confinedPlace()
    const own = '[core]\n\thooksPath = .husky\n\tfsmonitor = mine\n'
    const names = ['', 'a/b/c/d/e/', 'sub/.git/modules/x/']
    for (const name of names) {
      mkdirSync(join(cwd, name), { recursive: true })
      git(join(cwd, name), 'init', '-q')
      write(cwd, { [`${name}.git/config`]: own, [`${name}.git/hooks/pre-commit`]: '' })
    }
    const made = await run(
      'mkdir m n; echo "gitdir: ../.git" > m/.git; echo "gitdir: ../a/b/c/d/e/.git" > n/.git; echo ref: refs/heads/x > HEAD; echo .git > commondir',
      workspaceWrite,
    )
    expect(made.stderr).toBe('')
    for (const name of names) expect(readFileSync(join(cwd, `${name}.git/config`), 'utf8')).toBe(own)
  })

  test('W01 an index that cannot be read whole, and folders too many to be searched, are told of', async () => {
    const { run, cwd } = await confinedPlace()
    git(cwd, 'init', '-q')
    const lost = await run("printf 'DIRC\\0\\0\\0\\2\\0\\0\\0\\1' > .git/index", workspaceWrite)
    expect(lost.stderr).toContain(`the index of ${cwd}/.git cannot be read whole: look for new repositories in it`)
    expect((await run('true', workspaceWrite)).stderr).toBe('')
    const many = await run('mkdir x; cd x; seq 20001 | xargs mkdir; git init -q n', workspaceWrite, { timeout: 60_000 })
    expect(many.stderr).toContain('new repositories were not searched:')
  })

  test('W01 all worktrees are protected, however many folders a command makes beside them', async () => {
    const { run, cwd } = await place()
    write(cwd, Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`.git/worktrees/${i}/HEAD`, 'x'])))
    write(cwd, { '.git/config': '', '.git/worktrees/w/commondir': '../..', '.git/worktrees/w/gitdir': 'x' })
    await run('for w in .git/worktrees/*; do echo evil > $w/commondir; done')
    expect(execFileSync('cat', [join(cwd, '.git/worktrees/w/commondir')], { encoding: 'utf8' })).toBe('../..')
  })

  test('W01 where there is more than can be protected, no command runs', async () => {
    const { run, cwd } = await place()
    const worktrees = Array.from({ length: 501 }, (_, i) => `.git/worktrees/${i}`)
    write(
      cwd,
      Object.fromEntries(worktrees.flatMap((name) => ['commondir', 'gitdir'].map((one) => [`${name}/${one}`, 'x']))),
    )
    const refused = { code: 'ENOSANDBOX', message: expect.stringContaining('files are to be protected') }
    await expect(run('touch ran')).rejects.toMatchObject(refused)
    expect(existsSync(join(cwd, 'ran'))).toBe(false)
  })

  test('W01 a workspace with more folders than can be searched for repositories is refused, not searched in part', async () => {
    const root = emptyFolder()
    for (let i = 0; i < 20_001; i++) mkdirSync(join(root, String(i)))
    await expect(gitFolders(root).find()).rejects.toMatchObject({ code: 'ENOSANDBOX' })
  })
})
