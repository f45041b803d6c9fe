import { spawnSync } from 'node:child_process'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readTextIfThere, writeFileAtomic } from './files.ts'
import { processMark } from './process-identity.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'libero-files-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

test('a file is written whole, readable by its owner only, and nothing lies beside it', async () => {
  const path = join(folder, 'a', 'b', 'secret.json')
  await writeFileAtomic(path, 'ä secret')
  expect(await readFile(path, 'utf8')).toBe('ä secret')
  expect(await modeOf(path)).toBe(0o600)
  expect(await modeOf(join(folder, 'a'))).toBe(0o700)
  expect(await modeOf(join(folder, 'a', 'b'))).toBe(0o700)
  expect(await readdir(join(folder, 'a', 'b'))).toEqual(['secret.json'])
})

test('the mode can be chosen', async () => {
  const path = join(folder, 'public.txt')
  await writeFileAtomic(path, 'x', { mode: 0o400 })
  expect(await modeOf(path)).toBe(0o400)
})

test('an open file is replaced by one that only its owner may read', async () => {
  const path = join(folder, 'open.json')
  await writeFile(path, 'old')
  await chmod(path, 0o644)
  await writeFileAtomic(path, 'new')
  expect(await readFile(path, 'utf8')).toBe('new')
  expect(await modeOf(path)).toBe(0o600)
})

test('a link is replaced, and what it pointed to stays as it was', async () => {
  const [path, target] = [join(folder, 'link'), join(folder, 'target')]
  await writeFile(target, 'target')
  await symlink(target, path)
  await writeFileAtomic(path, 'new')
  expect(await readFile(target, 'utf8')).toBe('target')
  expect((await lstat(path)).isSymbolicLink()).toBe(false)
  expect(await readFile(path, 'utf8')).toBe('new')
})

test('a write that fails says where, and leaves no temporary file', async () => {
  const path = join(folder, 'taken')
  await mkdir(join(path, 'by a folder'), { recursive: true })
  await expect(writeFileAtomic(path, 'secret')).rejects.toThrow(
    /Cannot write .*taken: .*; check that the folder is writable/,
  )
  expect(await readdir(folder)).toEqual(['taken'])
})

test('a reader sees the old text or the new one, never a part', async () => {
  const path = join(folder, 'long.txt')
  const texts = ['a'.repeat(300_000), 'b'.repeat(300_000)] as const
  await writeFileAtomic(path, texts[0])
  let isWriting = true
  const writing = (async () => {
    for (let i = 0; i < 40; i++) await writeFileAtomic(path, texts[i % 2 ? 0 : 1])
    isWriting = false
  })()
  for (let i = 0; i < 10_000 && isWriting; i++) expect(texts).toContain(await readTextIfThere(path))
  await writing
})

test('the text of a file that is not there is undefined, other failures are thrown', async () => {
  expect(await readTextIfThere(join(folder, 'none'))).toBeUndefined()
  expect(await readTextIfThere(join(folder, 'none', 'at all'))).toBeUndefined()
  await expect(readTextIfThere(folder)).rejects.toThrow(/EISDIR/)
})

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777
}

test('R08 what a killed process left while it replaced a file is removed by the next one; what a living one writes is not', async () => {
  const dead = spawnSync('true').pid
  const leftBy = (pid: number): string =>
    join(folder, `export.md.libero-${processMark().replace(/-\d+-/, `-${pid}-`)}.tmp`)
  const [left, present] = [leftBy(dead), leftBy(process.pid)]
  for (const path of [left, present, join(folder, 'mine.tmp')]) await writeFile(path, 'half')
  await writeFileAtomic(join(folder, 'other.md'), 'whole')
  expect((await readdir(folder)).sort()).toEqual([basename(present), 'mine.tmp', 'other.md'])
})
