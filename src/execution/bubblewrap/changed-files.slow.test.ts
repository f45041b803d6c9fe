import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, realpathSync, renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { begun, emptyFolder, skipped, unavailable } from '../../../test/bubblewrap-kit.ts'
import { workspaceWrite, write } from '../../../test/confinement-kit.ts'
import { createProcessContext } from '../process.ts'
import { changedSince } from './changed-files.ts'

test('what changed is found by what no program can set, and only a git folder itself is named', async () => {
  const folder = realpathSync(emptyFolder())
  write(folder, { 'old.txt': 'old', 'sub/old.txt': 'old', 'same/x.txt': 'x', '.git/HEAD': 'x' })
  await sleep(50)
  const since = Date.now()
  await sleep(50)
  write(folder, { 'sub/new.txt': 'new', '.git/objects/aa/bb': 'x', 'ours.txt': 'x' })
  writeFileSync(join(folder, 'old.txt'), 'changed')
  utimesSync(join(folder, 'old.txt'), 1, 1)
  mkdirSync(join(folder, 'empty'))
  symlinkSync('secret', join(folder, 'link'))
  linkSync(join(folder, 'sub/old.txt'), join(folder, 'hard.txt'))
  const isOurs = (path: string): boolean => path.endsWith('/ours.txt')
  const { paths, isPartial } = await changedSince({ folders: [folder], since, isOurs })
  const names = paths.map((path) => path.slice(folder.length + 1))
  expect(names).toEqual(['.git', 'empty', 'hard.txt', 'link', 'old.txt', 'sub/new.txt', 'sub/old.txt'])
  expect(isPartial).toBe(false)
})

describe.skipIf(unavailable)(`a hidden file that is replaced while a command runs${skipped}`, () => {
  test('W06 it is said what may hold a copy of it, and nothing that was there before', async () => {
    const cwd = realpathSync(emptyFolder())
    write(cwd, { '.env': 'old secret', 'old.txt': 'old' })
    execFileSync('git', ['init', '-q', cwd])
    await sleep(50)
    const context = createProcessContext({ cwd })
    const handle = await context.spawn()
    onTestFinished(() => context.destroy(handle))
    const confinement = { ...workspaceWrite, hidden: [join(cwd, '.env')] }
    const command = 'git add old.txt; echo > begun; while :; do cat .env >copy.txt; done 2>/dev/null'
    const running = context.exec(handle, command, { confinement, timeout: 20_000 })
    await begun(cwd)
    writeFileSync(join(cwd, '.env.new'), 'new secret')
    renameSync(join(cwd, '.env.new'), join(cwd, '.env'))
    const { stdout, stderr, exitCode } = await running
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: null })
    const places = ['.git', 'begun', 'copy.txt'].map((name) => join(cwd, name))
    expect(stderr).toContain(
      `this was or may have been written meanwhile: ${[...places, '/tmp'].join(', ')}. Do not read`,
    )
  })
})
