import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { instructionFiles, repositoryOf } from './instructions.ts'

/** A folder with these files; names that end with `/` are folders. */
async function tree(...names: string[]): Promise<string> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'libero-instructions-')))
  onTestFinished(() => rm(base, { recursive: true, force: true }))
  for (const name of names) {
    const path = join(base, name)
    await mkdir(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!name.endsWith('/')) await writeFile(path, name)
  }
  return base
}

const idsIn = async (folder: string): Promise<string[]> => (await instructionFiles(folder)).map(({ id }) => id)

test('one file for each folder from the root of the repository down, root-first', async () => {
  const base = await tree(
    'AGENTS.md',
    'r/.git/',
    'r/AGENTS.md',
    'r/a/CLAUDE.md',
    'r/a/b/c/AGENTS.md',
    'r/a/b/c/d/AGENTS.md',
  )
  expect(await idsIn(join(base, 'r/a/b/c'))).toEqual(['../../../AGENTS.md', '../../CLAUDE.md', 'AGENTS.md'])
  expect(await idsIn(join(base, 'r'))).toEqual(['AGENTS.md'])
  expect(await repositoryOf(join(base, 'r/a/b/c'))).toBe(join(base, 'r'))
})

test('an override comes before AGENTS.md, and CLAUDE.md counts only where neither is', async () => {
  const base = await tree(
    'r/.git/',
    'r/AGENTS.override.md',
    'r/AGENTS.md',
    'r/CLAUDE.md',
    'r/a/AGENTS.md',
    'r/a/CLAUDE.md',
  )
  expect(await idsIn(join(base, 'r/a'))).toEqual(['../AGENTS.override.md', 'AGENTS.md'])
})

test('a folder with the name of such a file is none, and hides none', async () => {
  const base = await tree('r/.git/', 'r/AGENTS.override.md/', 'r/AGENTS.md')
  expect(await idsIn(join(base, 'r'))).toEqual(['AGENTS.md'])
})

test('TR-08 a repository inside another one, or a work tree whose .git is a file, takes nothing from above', async () => {
  const base = await tree(
    'r/.git/',
    'r/AGENTS.md',
    'r/clone/.git/',
    'r/clone/AGENTS.md',
    'r/tree/.git',
    'r/tree/x/AGENTS.md',
  )
  expect(await idsIn(join(base, 'r/clone'))).toEqual(['AGENTS.md'])
  expect(await idsIn(join(base, 'r/tree/x'))).toEqual(['AGENTS.md'])
})

test('without a repository only the folder itself counts', async () => {
  const base = await tree('AGENTS.md', 'a/AGENTS.md')
  expect(await idsIn(join(base, 'a'))).toEqual(['AGENTS.md'])
  expect(await repositoryOf(join(base, 'a'))).toBe(join(base, 'a'))
})

test('the home folder is never the root of a repository, whatever lies in it', async () => {
  const base = await tree('home/.git/', 'home/AGENTS.md', 'home/desk/AGENTS.md')
  const before = process.env.HOME
  process.env.HOME = join(base, 'home')
  onTestFinished(() => void (process.env.HOME = before))
  expect(homedir()).toBe(join(base, 'home'))
  expect(await idsIn(join(base, 'home/desk'))).toEqual(['AGENTS.md'])
})
