import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { gitBranch } from './git-branch.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libero-branch-'))
  mkdirSync(join(folder, '.git', 'worktrees', 'two'), { recursive: true })
  mkdirSync(join(folder, 'src', 'deep'), { recursive: true })
  writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/feature/x\n')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the branch is found from any folder of a repository', async () => {
  expect(await gitBranch(folder)).toBe('feature/x')
  expect(await gitBranch(join(folder, 'src', 'deep'))).toBe('feature/x')
})

test('a worktree has a branch of its own', async () => {
  writeFileSync(join(folder, 'src', '.git'), `gitdir: ${join('..', '.git', 'worktrees', 'two')}\n`)
  writeFileSync(join(folder, '.git', 'worktrees', 'two', 'HEAD'), 'ref: refs/heads/two\n')
  expect(await gitBranch(join(folder, 'src', 'deep'))).toBe('two')
})

test('without a branch it is the commit, and outside of a repository nothing', async () => {
  writeFileSync(join(folder, '.git', 'HEAD'), '0123456789abcdef0123456789abcdef01234567\n')
  expect(await gitBranch(folder)).toBe('0123456')
  expect(await gitBranch(tmpdir())).toBeUndefined()
})
