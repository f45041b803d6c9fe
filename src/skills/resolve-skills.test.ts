import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { put, putSkill, skillText } from '../../test/skills/skills-kit.ts'
import { temporary } from '../../test/temporary.ts'
import { buildCatalog } from './catalog.ts'
import { resolveSkills } from './resolve-skills.ts'
import { defineSkill, type SkillsConfig } from './skill.ts'

let cwd: string
let home: string
beforeEach(async () => {
  const folder = await temporary('resolve-')
  cwd = join(folder, 'project')
  home = join(folder, 'home')
  await mkdir(cwd)
})

const resolved = (more: SkillsConfig = {}) => resolveSkills({ cwd, home, ...more })
const names = async (more: SkillsConfig = {}) => (await resolved(more)).skills.map(({ name }) => name)
const inline = (name: string) => defineSkill({ name, description: `Written ${name}.`, instructions: 'Do it.' })

test('A215 skills are searched in the usual folders in order, and the first of a name wins', async () => {
  const order = [
    join(cwd, '.agents/skills'),
    join(cwd, '.libero/skills'),
    join(cwd, '.claude/skills'),
    join(home, '.agents/skills'),
    join(home, '.libero/skills'),
    join(home, '.claude/skills'),
  ]
  for (const [i, root] of order.entries())
    for (let name = 0; name <= i; name++) await putSkill(root, `s${name}`, `license: from ${i}`)
  const { skills, problems } = await resolved({ claude: true })
  expect(skills.map(({ name, license, source }) => `${name} ${license} ${source}`)).toEqual([
    's0 from 0 project',
    's1 from 1 project',
    's2 from 2 project',
    's3 from 3 user',
    's4 from 4 user',
    's5 from 5 user',
  ])
  expect(problems).toHaveLength(15)
  expect(problems[0]).toEqual({
    path: join(order[1]!, 's0/SKILL.md'),
    problem: `there is a skill "s0" before it, in ${join(order[0]!, 's0/SKILL.md')}, which is used`,
    isSkipped: true,
  })
  expect((await resolved()).skills.map(({ name, license }) => `${name} ${license}`)).toEqual([
    's0 from 0',
    's1 from 1',
    's2 from 3',
    's3 from 3',
    's4 from 4',
  ])
})

test('A215 a folder reached twice is one skill, and names that differ in case are equal', async () => {
  await putSkill(join(cwd, '.agents/skills'), 'a')
  await mkdir(join(cwd, '.libero'))
  await symlink(join(cwd, '.agents/skills'), join(cwd, '.libero/skills'))
  expect(await resolved()).toMatchObject({ skills: [{ name: 'a' }], problems: [] })
  await put(join(home, '.agents/skills/A/SKILL.md'), skillText('A'))
  expect((await resolved()).skills).toMatchObject([{ name: 'a', source: 'project' }])
})

describe('A216 the available skills can be restricted by name', () => {
  beforeEach(async () => {
    await putSkill(join(cwd, '.agents/skills'), 'one')
    await putSkill(join(home, '.agents/skills'), 'two')
    await putSkill(join(cwd, '..', 'extra'), 'three')
    await putSkill(join(cwd, '..', 'extra'), 'one', 'license: extra')
    await putSkill(join(cwd, 'own'), 'four')
  })

  test.each<[string, SkillsConfig, string[]]>([
    ['nothing said', {}, ['one', 'two']],
    ['scan', { scan: ['../extra', 'own', 'none'] }, ['four', 'one', 'three', 'two']],
    ['write', { write: [inline('zero')] }, ['one', 'two', 'zero']],
    ['exclude', { exclude: ['one', 'none'] }, ['two']],
    ['exclude, in another case', { exclude: ['ONE'] }, ['two']],
    ['enabled', { enabled: ['two', 'none'] }, ['two']],
    ['enabled and exclude', { enabled: ['one', 'two'], exclude: ['two'] }, ['one']],
    ['enabled for all', { enabled: true }, ['one', 'two']],
    ['enabled for none', { enabled: false, write: [inline('zero')] }, []],
    ['enabled for an empty list', { enabled: [] }, []],
  ])('%s', async (_, config, expected) => {
    expect(await names(config)).toEqual(expected)
  })

  test('scan comes before the usual folders, and what the program wrote before all', async () => {
    expect((await resolved({ scan: ['../extra'] })).skills[0]).toMatchObject({ license: 'extra', source: 'user' })
    const { skills, problems } = await resolved({ scan: ['../extra', 'own'], write: [inline('one'), inline('one')] })
    expect(skills.map(({ name, source }) => [name, source])).toEqual([
      ['four', 'project'],
      ['one', 'inline'],
      ['three', 'user'],
      ['two', 'user'],
    ])
    expect(skills[1]).toMatchObject({ instructions: 'Do it.' })
    expect(problems).toHaveLength(3)
  })

  test('SK-05 a skill of the program needs a harmless name and a description too', async () => {
    const { skills, problems } = await resolved({ write: [inline('../x'), { ...inline('x'), description: ' ' }] })
    expect(skills.map(({ name }) => name)).toEqual(['one', 'two'])
    expect(problems).toMatchObject([{ isSkipped: true }, { isSkipped: true }])
  })
})

describe('A222 skills of a project that is not trusted are dropped', () => {
  beforeEach(async () => {
    await putSkill(join(cwd, '.agents/skills'), 'theirs')
    await putSkill(join(cwd, '.libero/skills'), 'theirs-too')
    await putSkill(join(cwd, 'own'), 'scanned')
    await putSkill(join(home, '.agents/skills'), 'mine')
  })

  test('all of them, also those of scan that lie in the project', async () => {
    const { skills } = await resolved({ scan: ['own'], trustProjectSkills: false })
    expect(buildCatalog(skills)).toContain('<name>mine</name>')
    expect(buildCatalog(skills)).not.toMatch(/theirs|scanned/)
    expect(await names({ scan: ['own'] })).toEqual(['mine', 'scanned', 'theirs', 'theirs-too'])
  })

  test('a skill of an untrusted project replaces no other', async () => {
    await putSkill(join(cwd, '.agents/skills'), 'mine', 'license: theirs')
    expect((await resolved({ trustProjectSkills: false })).skills).toMatchObject([{ name: 'mine', source: 'user' }])
  })

  test('it can be said of each', async () => {
    const asked: string[] = []
    const trustProjectSkills = async (folder: string) => {
      asked.push(folder)
      return folder.endsWith('theirs')
    }
    expect(await names({ trustProjectSkills })).toEqual(['mine', 'theirs'])
    expect(asked).toEqual([join(cwd, '.agents/skills/theirs'), join(cwd, '.libero/skills/theirs-too')])
  })
})

test('SK-08 a folder of skills that leads out of the project is refused, and parents are not searched', async () => {
  await putSkill(join(cwd, '..', '.agents/skills'), 'of-the-parent')
  await putSkill(join(home, 'private'), 'secret')
  await mkdir(join(cwd, '.agents'))
  await symlink(join(home, 'private'), join(cwd, '.agents/skills'))
  const { skills, problems } = await resolved()
  expect(skills).toEqual([])
  expect(problems).toMatchObject([{ path: join(cwd, '.agents/skills'), problem: expect.stringContaining('leads out') }])
})

test('in the home folder, skills are the user’s own and need no trust', async () => {
  await putSkill(join(home, '.agents/skills'), 'mine')
  const { skills, problems } = await resolveSkills({ cwd: home, home, trustProjectSkills: false })
  expect(skills).toMatchObject([{ name: 'mine', source: 'user' }])
  expect(problems).toEqual([])
})

test('the folder of Libero can be another one', async () => {
  await putSkill(join(cwd, '..', 'elsewhere/skills'), 'mine')
  expect(await names({ liberoHome: join(cwd, '..', 'elsewhere') })).toEqual(['mine'])
})

test('a skill for certain files is offered only where there is such a file', async () => {
  await putSkill(join(home, '.agents/skills'), 'python', 'paths: "**/*.py, *.ipynb"')
  await putSkill(join(home, '.agents/skills'), 'web', 'paths: src/*.{ts,tsx}')
  await put(join(cwd, 'node_modules/x/a.py'), '')
  expect(await resolved()).toMatchObject({
    skills: [],
    leftOut: [
      { skill: { name: 'python' }, why: 'paths' },
      { skill: { name: 'web' }, why: 'paths' },
    ],
  })
  await put(join(cwd, 'a/b/c.py'), '')
  expect(await names()).toEqual(['python'])
  await put(join(cwd, 'src/a.tsx'), '')
  expect(await names()).toEqual(['python', 'web'])
})

test('ignored values of model and thinking are reported as in a run', async () => {
  await putSkill(join(home, '.agents/skills'), 'odd', 'thinking: much')
  const { problems } = await resolved()
  expect(problems).toMatchObject([{ field: 'thinking', problem: expect.stringContaining('is ignored') }])
})
