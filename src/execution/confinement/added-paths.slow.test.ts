import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { confinedPlace, workspaceWrite, write } from '../../../test/confinement-kit.ts'

describe.skipIf(unavailable)(`paths that the user adds to sandboxes${skipped}`, () => {
  test('a file and a folder can be read in every sandbox and written in none; what rules hide stays hidden', async () => {
    const { top } = await confinedPlace()
    write(top, {
      'home/data/a.txt': 'data',
      'home/data/.env': 'canary',
      'outside/b.txt': 'file',
      'outside/c.txt': 'other',
    })
    symlinkSync(join(top, 'outside/b.txt'), join(top, 'home/link'))
    const { home, run } = await confinedPlace({ top, added: { read: ['home/data', 'home/link'] } })
    const hidden = [join(home, 'data/.env')]
    for (const profile of ['read-only', 'workspace-write'] as const) {
      const { stdout } = await run('cat ~/data/* ~/data/.env ~/link ../outside/c.txt; echo x >~/data/a.txt; ls -A ~', {
        ...{ profile, hidden },
      })
      expect([profile, stdout]).toEqual([profile, 'datafiledata\nlink\n'])
    }
    expect(readFileSync(join(home, 'data/a.txt'), 'utf8')).toBe('data')
  })

  test('a cache is written in workspace-write alone, and programs find it; its neighbours are not there', async () => {
    const { top } = await confinedPlace()
    write(top, { 'home/.cache/pip/a': 'kept', 'home/.cache/zsh/prompt': 'run later', 'home/.npm/b': 'kept' })
    const { home, run } = await confinedPlace({ top, added: { caches: ['home/.cache/pip', 'home/.npm'] } })
    const command =
      'cat ~/.cache/pip/a; echo new >$XDG_CACHE_HOME/pip/made; echo x >~/.cache/zsh/prompt; echo $npm_config_cache'
    const inside = await run(`mkdir -p ~/.cache/zsh; ${command}`, workspaceWrite)
    expect(inside.stdout).toBe(`kept${home}/.npm\n`)
    expect(readFileSync(join(home, '.cache/pip/made'), 'utf8')).toBe('new\n')
    expect(readFileSync(join(home, '.cache/zsh/prompt'), 'utf8')).toBe('run later')
    rmSync(join(home, '.cache/pip/made'))
    expect((await run(command)).stdout).toBe('/tmp/.npm\n')
    expect(existsSync(join(home, '.cache/pip/made'))).toBe(false)
  })

  test('neither the home folder nor what contains it is added, and nothing of the workspace loses its protection', async () => {
    const { top, cwd } = await confinedPlace()
    write(top, { 'home/.ssh/id': 'canary', 'workspace/.vscode/settings.json': 'kept' })
    const paths = ['.', 'home', 'workspace', 'workspace/.vscode', '/', '/proc']
    const { run } = await confinedPlace({ top, added: { read: paths, caches: paths } })
    const { stdout } = await run('cat ~/.ssh/id; ls -A ~; echo x >.vscode/settings.json; ls ..', workspaceWrite)
    expect(stdout).toBe('home\nworkspace\n')
    expect(readFileSync(join(cwd, '.vscode/settings.json'), 'utf8')).toBe('kept')
  })

  test('a link that a command leaves in a cache opens nothing to the next one', async () => {
    const { top } = await confinedPlace()
    write(top, { 'home/.ssh/id': 'canary', 'home/.npm/shared/a': 'shared' })
    const { home, run } = await confinedPlace({ top, added: { read: ['home/.npm/shared'], caches: ['home/.npm'] } })
    expect((await run('cat ~/.npm/shared/a')).stdout).toBe('shared')
    // A command cannot move what is mounted; another program may.
    rmSync(join(home, '.npm/shared'), { recursive: true })
    symlinkSync('../.ssh', join(home, '.npm/shared'))
    for (const profile of ['read-only', 'workspace-write'] as const)
      expect((await run('cat ~/.npm/shared/id ~/.ssh/id', { profile })).stdout).toBe('')
  })
})
