import { basename, dirname } from 'node:path'
import { projectNames } from '../../authority/trust/project-names.ts'
import type { Skill } from '../../skills/skill.ts'
import type { Io } from '../io.ts'
import { findSkills } from './skills.ts'

/** A skill in a folder, or the reason why an agent does not have it. */
export interface ListedSkill extends Partial<Pick<Skill, (typeof shown)[number]>> {
  readonly name: string
  readonly source: Skill['source']
  /** `pending`: its project is not trusted, so that it was not opened. */
  readonly state: 'used' | 'left out' | 'wrong' | 'pending'
  /** What is wrong with it, or why it is not used. */
  readonly problem?: string
}

const shown = ['description', 'path', 'license', 'compatibility', 'allowedTools', 'paths', 'model', 'isHidden'] as const

/** All skills of this folder. Opens nothing of a project that is not trusted. */
export async function listSkills(io: Io): Promise<readonly ListedSkill[]> {
  const { skills, leftOut, problems, isTrusted } = await findSkills({}, io)
  const problemOf = (path: string | undefined) => problems.find((one) => one.path === path)?.problem
  const used = skills.map((skill) => listed(skill, 'used', problemOf(skill.path)))
  const unused = leftOut.map(({ skill, why }) => listed(skill, 'left out', why === 'paths' ? noPath : `it is ${why}`))
  const wrong = problems
    .filter(({ isSkipped }) => isSkipped)
    .map(({ path, problem }) => ({ ...named(path), state: 'wrong' as const, path, problem }))
  const waiting = isTrusted ? [] : (await projectNames(io.cwd)).names.filter(({ kind }) => kind === 'skill')
  const pending = waiting.map(({ path }) => ({ ...named(path), state: 'pending' as const, path, problem: untrusted }))
  return [...used, ...unused, ...wrong, ...pending]
}

const noPath = 'no file in this folder matches its paths'
const untrusted = 'the project is not trusted, so it was not opened; see: libero trust'

function listed(skill: Skill, state: ListedSkill['state'], problem: string | undefined): ListedSkill {
  const facts = shown.flatMap((field) => (skill[field] === undefined ? [] : [[field, skill[field]]]))
  return {
    ...{ name: skill.name, source: skill.source, state, ...Object.fromEntries(facts) },
    ...(problem !== undefined && { problem }),
  }
}

/** A skill that was not read, by its folder. */
const named = (path: string): Pick<ListedSkill, 'name' | 'source'> => ({
  name: basename(path) === 'SKILL.md' ? basename(dirname(path)) : basename(path),
  source: 'project',
})
