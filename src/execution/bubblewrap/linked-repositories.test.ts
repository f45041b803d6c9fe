import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createLinkedRepositories } from './linked-repositories.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'libero-linked-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function git(cwd: string, ...args: string[]): string {
  const own = ['-c', 'user.name=a', '-c', 'user.email=a', '-c', 'init.defaultBranch=main']
  return execFileSync('git', [...own, ...args], {
    cwd,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, HOME: folder },
  })
}

function repository(path: string): void {
  mkdirSync(path, { recursive: true })
  git(path, 'init', '-q')
  git(path, 'commit', '-q', '--allow-empty', '-m', 'x')
}

const link = (outer: string, name: string): void =>
  void git(outer, 'update-index', '--add', '--cacheinfo', `160000,${'a'.repeat(40)},${name}`)

test('repositories that an index lists are found, and those that these list, as it is now', () => {
  const root = mkdtempSync(join(folder, 'w-'))
  for (const name of ['', 'node_modules/a', 'node_modules/a/b', 'other']) repository(join(root, name))
  link(root, 'node_modules/a')
  link(root, 'missing')
  link(join(root, 'node_modules/a'), 'b')
  const linked = createLinkedRepositories()
  const at = (name: string): string => join(root, name, '.git')
  const first = linked.find([at('')])
  expect([...first.found]).toEqual([
    [at('node_modules/a'), at('')],
    [at('node_modules/a/b'), at('node_modules/a')],
  ])
  expect(first.unread).toEqual([])
  link(root, 'other')
  expect([...linked.find([at('')]).found.keys()]).toContain(at('other'))
  expect(linked.find([at('other')]).found.size).toBe(0)
})

test('the index of a worktree is found, and one in two files is read, or said not to be', () => {
  const root = mkdtempSync(join(folder, 'w-'))
  repository(join(root, 'main'))
  writeFileSync(join(root, 'main/n'), '')
  git(join(root, 'main'), 'add', 'n')
  git(join(root, 'main'), 'commit', '-qm', 'n')
  git(join(root, 'main'), 'worktree', 'add', '-q', '../tree')
  repository(join(root, 'tree/sub'))
  link(join(root, 'tree'), 'sub')
  const linked = createLinkedRepositories()
  const tree = join(root, 'tree/.git')
  expect([...linked.find([tree]).found.keys()]).toEqual([join(root, 'tree/sub/.git')])
  git(join(root, 'tree'), 'update-index', '--split-index')
  expect([...linked.find([tree]).found.keys()]).toEqual([join(root, 'tree/sub/.git')])
  link(join(root, 'tree'), 'n')
  expect(linked.find([tree]).unread).toEqual([tree])
})
