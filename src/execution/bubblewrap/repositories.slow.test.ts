import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { emptyFolder, place, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, workspaceWrite, write } from '../../../test/confinement-kit.ts'
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
