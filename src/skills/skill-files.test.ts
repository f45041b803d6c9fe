import { rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { put, putSkill } from '../../test/skills/skills-kit.ts'
import { temporary } from '../../test/temporary.ts'
import { findSkills } from './find-skills.ts'
import type { Skill } from './skill.ts'
import { listResources, readInstructions } from './skill-files.ts'

async function found(body: string): Promise<Skill & { path: string }> {
  const root = await temporary('instructions-')
  await putSkill(root, 'a', '', body)
  const [skill] = (await findSkills([{ path: root, source: 'user' }])).skills
  return { ...skill!, path: join(root, 'a/SKILL.md') }
}

test('instructions are the text below the front matter, as the file has it now', async () => {
  const skill = await found(`# Title\n\n---\n\n${'long '.repeat(20_000)}end`)
  expect(await readInstructions(skill)).toBe(`# Title\n\n---\n\n${'long '.repeat(20_000)}end`)
  await put(skill.path, '---\nname: a\ndescription: b\n---\r\nAnother\r\ntext.\u{e0041}\n')
  expect(await readInstructions(skill)).toBe('Another\ntext.')
})

test('instructions of a skill of the program are used as written', async () => {
  const skill: Skill = { name: 'a', description: 'b', source: 'inline', instructions: '\nDo it.\n' }
  expect(await readInstructions(skill)).toBe('Do it.')
})

test('a file that became a link, too large, or another text is refused with the reason', async () => {
  const skill = await found('text')
  await put(skill.path, 'no front matter')
  await expect(readInstructions(skill)).rejects.toThrow(/skill a changed since it was found/)
  await put(skill.path, `---\nname: a\n---\n${'x'.repeat(1024 * 1024)}`)
  await expect(readInstructions(skill)).rejects.toThrow(/limit/)
  await rm(skill.path)
  await expect(readInstructions(skill)).rejects.toThrow(/ENOENT/)
  await symlink('/etc/hostname', skill.path)
  await expect(readInstructions(skill)).rejects.toThrow(/cannot be opened/)
})

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
