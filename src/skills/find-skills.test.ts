import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { put, putSkill, skillText } from '../../test/skills/skills-kit.ts'
import { temporary } from '../../test/temporary.ts'
import { findSkills } from './find-skills.ts'

const namesIn = async (path: string, source: 'project' | 'user' = 'user') =>
  (await findSkills([{ path, source }])).skills.map(({ name }) => name)

test('skills are found in folders within folders, the upper ones first, then by name', async () => {
  const root = await temporary('skills-')
  await putSkill(root, 'z')
  await putSkill(root, 'b')
  await putSkill(join(root, 'group'), 'a')
  await putSkill(join(root, 'one/two/three'), 'deep')
  await putSkill(join(root, 'one/two/three/four'), 'too-deep')
  await putSkill(join(root, 'z'), 'inside-of-a-skill')
  const { skills, problems } = await findSkills([{ path: root, source: 'user' }])
  expect(skills.map(({ name }) => name)).toEqual(['b', 'z', 'a', 'deep'])
  expect(skills[0]).toEqual({
    name: 'b',
    description: 'What b is for.',
    source: 'user',
    folder: join(root, 'b'),
    path: join(root, 'b/SKILL.md'),
  })
  expect(problems).toEqual([])
})

test('a folder that is not there has no skills, and that is no problem', async () => {
  const root = await temporary('skills-')
  expect(await findSkills([{ path: join(root, 'none'), source: 'user' }])).toEqual({ skills: [], problems: [] })
})

test('SK-08 node_modules, hidden folders and parents of the root are not searched', async () => {
  const root = await temporary('skills-')
  await putSkill(root, 'above')
  await putSkill(join(root, 'skills/node_modules'), 'planted')
  await putSkill(join(root, 'skills/.git'), 'planted-too')
  await putSkill(join(root, 'skills/.hidden'), 'planted-as-well')
  await putSkill(join(root, 'skills'), 'good')
  expect(await namesIn(join(root, 'skills'))).toEqual(['good'])
})

test('skill.md counts where there is no SKILL.md; with both it is said which counts', async () => {
  const root = await temporary('skills-')
  await put(join(root, 'small/skill.md'), skillText('small'))
  await put(join(root, 'both/SKILL.md'), skillText('both', 'license: large'))
  await put(join(root, 'both/skill.md'), skillText('both', 'license: small'))
  await put(join(root, 'odd/Skill.md'), skillText('odd'))
  const { skills, problems } = await findSkills([{ path: root, source: 'user' }])
  expect(skills.map(({ name, license }) => [name, license])).toEqual([
    ['both', 'large'],
    ['small', undefined],
  ])
  expect(problems).toMatchObject([
    { path: join(root, 'both'), isSkipped: false, problem: expect.stringContaining('only SKILL.md') },
    { path: join(root, 'odd/Skill.md'), isSkipped: true },
  ])
})

test('an unreadable skill is left out and reported, and the others are loaded', async () => {
  const root = await temporary('skills-')
  await putSkill(root, 'good')
  await put(join(root, 'large/SKILL.md'), `${skillText('large')}${'x'.repeat(1024 * 1024)}`)
  await put(join(root, 'broken/SKILL.md'), '---\nname: broken\ndescription: [\n---\n')
  await mkdir(join(root, 'folder/SKILL.md'), { recursive: true })
  const { skills, problems } = await findSkills([{ path: root, source: 'user' }])
  expect(skills.map(({ name }) => name)).toEqual(['good'])
  expect(problems.map(({ isSkipped }) => isSkipped)).toEqual([true, true, true])
  expect(problems.map(({ problem }) => problem).join('\n')).toMatch(/cannot be read.*\n.*regular file\n.*bytes.*limit/)
})

test('only the head of a file is read: a long text and its broken characters do no harm', async () => {
  const root = await temporary('skills-')
  const long = `description: ${'ä'.repeat(3000)}`
  await put(join(root, 'long/SKILL.md'), `---\nname: long\n${long}\n---\n${'ö'.repeat(100_000)}`)
  const { skills } = await findSkills([{ path: root, source: 'user' }])
  expect(skills[0]?.description).toBe('ä'.repeat(3000))
})

test('the number of folders is bounded, with a note', async () => {
  const root = await temporary('skills-')
  for (let i = 0; i < 25; i++) await mkdir(join(root, `f${i}`))
  await putSkill(root, 'aa')
  await putSkill(root, 'zz')
  const { skills, problems } = await findSkills([{ path: root, source: 'user' }], { mostFolders: 20 })
  expect(skills.map(({ name }) => name)).toEqual(['aa'])
  expect(problems).toMatchObject([{ path: root, isSkipped: true, problem: expect.stringContaining('20 folders') }])
})

describe('links', () => {
  test('a SKILL.md that is a link to nowhere, or to itself, says so', async () => {
    const root = await temporary('skills-')
    for (const [name, target] of [
      ['nowhere', 'gone'],
      ['self', 'SKILL.md'],
    ]) {
      await mkdir(join(root, name!))
      await symlink(target!, join(root, name!, 'SKILL.md'))
    }
    const { problems } = await findSkills([{ path: root, source: 'user' }])
    expect(problems.map(({ problem }) => problem)).toEqual(['it is a link to nowhere', 'it is a link to nowhere'])
  })

  test('the number of links per folder is bounded, with one note', async () => {
    const root = await temporary('skills-')
    for (let i = 0; i < 600; i++) await symlink('gone', join(root, `l${i}`))
    await putSkill(root, 'zz')
    const { skills, problems } = await findSkills([{ path: root, source: 'project' }])
    expect(skills.map(({ name }) => name)).toEqual(['zz'])
    expect(problems).toHaveLength(501)
    expect(problems.at(-1)?.problem).toBe('it has more than 500 links: the rest is not followed')
  })

  test('those of the user are followed, and lead in no circles', async () => {
    const [root, elsewhere] = [await temporary('skills-'), await temporary('else-')]
    await putSkill(elsewhere, 'far')
    await put(join(elsewhere, 'text.md'), skillText('by-file'))
    await symlink(join(elsewhere, 'far'), join(root, 'far'))
    await mkdir(join(root, 'by-file'))
    await symlink(join(elsewhere, 'text.md'), join(root, 'by-file/SKILL.md'))
    await symlink(root, join(root, 'again'))
    await symlink(join(root, 'nowhere'), join(root, 'broken'))
    const { skills, problems } = await findSkills([{ path: root, source: 'user' }])
    expect(skills.map(({ name, folder }) => [name, folder])).toEqual([
      ['by-file', join(root, 'by-file')],
      ['far', join(elsewhere, 'far')],
    ])
    expect(problems).toMatchObject([{ path: join(root, 'broken'), problem: expect.stringContaining('nowhere') }])
  })

  test('those of a project are followed only inside its folder of skills', async () => {
    const [root, elsewhere] = [await temporary('skills-'), await temporary('else-')]
    await putSkill(elsewhere, 'secret')
    await putSkill(root, 'real')
    await symlink(join(root, 'real'), join(root, 'alias'))
    await symlink(join(elsewhere, 'secret'), join(root, 'out'))
    await mkdir(join(root, 'by-file'))
    await symlink(join(elsewhere, 'secret/SKILL.md'), join(root, 'by-file/SKILL.md'))
    const { skills, problems } = await findSkills([{ path: root, source: 'project' }])
    expect(skills.map(({ name, folder }) => [name, folder])).toEqual([['real', join(root, 'real')]])
    expect(problems.filter(({ isSkipped }) => isSkipped)).toMatchObject([
      { path: join(root, 'out'), problem: expect.stringContaining('leads out') },
      { path: join(root, 'by-file'), problem: expect.stringContaining('leads out') },
    ])
  })
})

describe('TR-01 of a project nothing is opened before a person said yes', () => {
  test('it is called with each entry before the entry is opened', async () => {
    const root = await temporary('skills-')
    await mkdir(join(root, 'late'))
    await mkdir(join(root, 'no'))
    await writeFile(join(root, 'README.md'), 'no folder')
    const asked: string[] = []
    const { skills, problems } = await findSkills([{ path: root, source: 'project' }], {
      async mayOpen(entry) {
        asked.push(entry)
        // Had it been looked at before, this would not be seen.
        await putSkill(root, entry.endsWith('late') ? 'late' : 'no')
        return entry.endsWith('late')
      },
    })
    expect(asked).toEqual([join(root, 'late'), join(root, 'no')])
    expect(skills.map(({ name }) => name)).toEqual(['late'])
    expect(problems).toMatchObject([{ path: root, isSkipped: true, problem: expect.stringContaining('no: left out') }])
  })

  test('a skill keeps the entry that was asked about, so that it can be checked again', async () => {
    const root = await temporary('skills-')
    await putSkill(join(root, 'group/inner'), 'deep')
    await putSkill(root, 'upper')
    const { skills } = await findSkills([{ path: root, source: 'project' }])
    expect(skills.map(({ folder, entry }) => [folder, entry])).toEqual([
      [join(root, 'upper'), join(root, 'upper')],
      [join(root, 'group/inner/deep'), join(root, 'group')],
    ])
  })

  test('a failing check counts as no', async () => {
    const root = await temporary('skills-')
    await putSkill(root, 'a')
    const mayOpen = () => {
      throw new Error('not attached')
    }
    expect((await findSkills([{ path: root, source: 'project' }], { mayOpen })).skills).toEqual([])
  })

  test('a link to another entry needs permission for both', async () => {
    const root = await temporary('skills-')
    await putSkill(root, 'target')
    await symlink(join(root, 'target'), join(root, 'alias'))
    const mayOpen = (entry: string) => entry.endsWith('alias')
    expect((await findSkills([{ path: root, source: 'project' }], { mayOpen })).skills).toEqual([])
  })

  test('below an entry no link leads to an entry that was not asked about', async () => {
    const root = await temporary('skills-')
    await putSkill(root, 'secret')
    await mkdir(join(root, 'group'))
    await symlink(join(root, 'secret'), join(root, 'group/way'))
    const mayOpen = (entry: string) => entry.endsWith('group')
    expect((await findSkills([{ path: root, source: 'project' }], { mayOpen })).skills).toEqual([])
  })

  test('a SKILL.md in the root itself is not an entry', async () => {
    const root = await temporary('skills-')
    await put(join(root, 'SKILL.md'), skillText('root'))
    expect(await namesIn(root, 'project')).toEqual([])
    expect(await namesIn(root, 'user')).toEqual(['root'])
    await rm(join(root, 'SKILL.md'))
  })
})
