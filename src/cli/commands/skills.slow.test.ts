import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { type FakeIo, fakeIo, runLibero } from '../../../test/cli/fake-io.ts'
import { put, putSkill } from '../../../test/skills/skills-kit.ts'
import { trustByDigest } from '../../authority/trust/enter-project.ts'
import { projectDigest } from '../../authority/trust/project-items.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'

let io: FakeIo
let project: string
beforeEach(async () => {
  io = fakeIo()
  project = join(io.cwd, 'project')
  await mkdir(project)
})

const skills = async (...words: string[]) => {
  io.clear()
  return runLibero(['skills', ...words], io)
}
const here = (...words: string[]) => skills(...words, '--cwd', 'project')
const trust = async () => trustByDigest(createTrustList({ folder: io.home }), project, await projectDigest(project))

test('the user’s skills are listed with their paths; problems go to stderr', async () => {
  await putSkill(join(io.userHome, '.agents/skills'), 'pdf')
  await putSkill(join(io.home, 'skills'), 'mine', 'disable-model-invocation: true')
  await put(join(io.home, 'skills/broken/SKILL.md'), 'no front matter')
  await putSkill(join(io.userHome, '.claude/skills'), 'other')
  const { code, out, err } = await here('list')
  expect(code).toBe(0)
  expect(out.split('\n')[0]).toMatch(/^skill +from +says$/)
  expect(out).toMatch(/^pdf +user +What pdf is for\.$/m)
  expect(out).toMatch(/^mine +user .*\n +.*mine\/SKILL.md\n +hidden from the model/m)
  expect(out).not.toContain('other')
  expect(err).toMatch(/broken.*left out/)
  expect((await here('list', '--claude')).out).toContain('other')
})

test('--json prints one object', async () => {
  await putSkill(join(io.home, 'skills'), 'mine', 'allowed-tools: Read')
  expect(JSON.parse((await here('list', '--json')).out)).toMatchObject({
    skills: [{ name: 'mine', source: 'user', allowedTools: ['Read'], path: expect.stringContaining('SKILL.md') }],
    problems: [],
    notices: [],
  })
})

test('without skills it says where they belong', async () => {
  const { code, out, err } = await here()
  expect({ code, out }).toEqual({ code: 0, out: '' })
  expect(err).toContain('.agents/skills')
})

test('A222 skills of a project that is not trusted are neither listed nor shown', async () => {
  await putSkill(join(project, '.libero/skills'), 'theirs')
  const { out, err } = await here()
  expect(out).not.toContain('theirs')
  expect(err).toMatch(/not trusted.*libero trust/)
  const shown = await here('show', 'theirs')
  expect(shown.code).toBe(1)
  expect(shown.out).toBe('')
  expect(shown.err).toMatch(/libero trust/)
})

test('skills of a trusted project are listed, until they change', async () => {
  await putSkill(join(project, '.libero/skills'), 'theirs')
  await trust()
  expect((await here()).out).toMatch(/^theirs +project /m)
  await putSkill(join(project, '.libero/skills'), 'theirs', 'license: changed')
  const { out, err } = await here()
  expect(out).not.toContain('theirs')
  expect(err).toMatch(/theirs.*left out/)
})

test('a skill is shown as a model gets it, and its commands are not run', async () => {
  const mark = join(io.cwd, 'mark')
  const more = 'license: MIT\nallowed-tools: Bash(git:*) Read\nmetadata:\n  version: 1.0'
  await putSkill(join(io.home, 'skills'), 'mine', more, `Now: !\`touch ${mark}\`\n\u001b[2Jdone`)
  await put(join(io.home, 'skills/mine/scripts/run.sh'), 'x')
  const { code, out } = await here('show', 'mine')
  expect(code).toBe(0)
  expect(out).toContain('name: mine\ndescription: What mine is for.\nfrom: user')
  expect(out).toContain('license: MIT\nallowed tools: Bash(git:*) Read\nversion: 1.0\n')
  expect(out).toContain(`Now: !\`touch ${mark}\``)
  expect(out).toMatch(/files:\n {2}scripts\/run.sh\n$/)
  expect(out).not.toContain('\u001b')
  await expect(readFile(mark)).rejects.toThrow('ENOENT')
})

test('a skill for files that this folder does not have is reported as left out, and can be shown', async () => {
  await putSkill(join(io.home, 'skills'), 'python', 'paths: "*.py"')
  const { out, err } = await here()
  expect(out).not.toContain('python')
  expect(err).toMatch(/python is left out: no file in this folder matches \*\.py/)
  expect((await here('show', 'Python')).code).toBe(0)
  await writeFile(join(project, 'a.py'), '')
  expect((await here()).out).toContain('python')
})

test('validate reports violations of the standard, and ends with 1', async () => {
  await putSkill(project, 'good')
  await putSkill(project, 'bad', 'version: 1')
  await put(join(project, 'worse/SKILL.md'), '---\nname: "a\\e[2Jb"\n---\n')
  expect(await skills('validate', 'project/good')).toMatchObject({ code: 0, out: 'project/good: valid\n' })
  const { code, out } = await skills('validate', 'project/good', 'project/bad', 'project/worse', 'project/none')
  expect(code).toBe(1)
  expect(out).toContain('project/good: valid')
  expect(out).toContain('project/bad: version is not in the standard')
  expect(out).toContain('project/worse: it has no description')
  expect(out).toContain('project/none: there is no such folder')
  expect(out).not.toContain('\u001b')
})

test('a missing name or folder is a usage error', async () => {
  expect((await skills('show')).code).toBe(2)
  expect((await skills('validate')).code).toBe(2)
  expect(await here('show', 'no\u001bne')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/no skill no␛ne in this folder/),
  })
})
