import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { put, putSkill } from '../../test/skills/skills-kit.ts'
import { temporary } from '../../test/temporary.ts'
import { listResources } from './skill-files.ts'

test('the files of a skill are named, without hidden ones, links, and its own text', async () => {
  const root = await temporary('resources-')
  await putSkill(root, 'a')
  const folder = join(root, 'a')
  for (const file of ['scripts/run.sh', 'references/api.md', 'references/deep/x.md', 'assets/b.png', 'LICENSE.txt'])
    await put(join(folder, file), 'x')
  for (const file of ['.env', '.git/config', 'scripts/.secret', 'node_modules/x/index.js', 'bad\u001b[2J.md'])
    await put(join(folder, file), 'x')
  await symlink('/etc', join(folder, 'etc'))
  await symlink('/etc/passwd', join(folder, 'assets/passwd'))
  expect(await listResources(folder)).toEqual([
    'LICENSE.txt',
    'assets/b.png',
    'references/api.md',
    'references/deep/x.md',
    'scripts/run.sh',
  ])
})

test('of many files two hundred are named, and a folder that is gone has none', async () => {
  const folder = await temporary('resources-')
  for (let i = 0; i < 250; i++) await put(join(folder, `assets/${String(i).padStart(3, '0')}`), '')
  const files = await listResources(folder)
  expect(files).toHaveLength(200)
  expect(files.at(-1)).toBe('assets/199')
  expect(await listResources(join(folder, 'gone'))).toEqual([])
})
