import type { Run } from '../core/run.ts'
import type { ActiveSkill, ActiveSkills } from './active-skills.ts'
import type { Skill, SkillsConfig } from './skill.ts'
import { nameKey } from './skill-name.ts'

/** What the three tools know of the run they belong to. */
export interface RunSkills {
  readonly run: Run
  readonly config: SkillsConfig
  readonly skills: readonly Skill[]
  readonly active: ActiveSkills
  /** Makes a skill active, and tells. */
  activate(active: ActiveSkill): Promise<void>
}

/** A skill by its name, whoever may activate it. */
export function findSkill(skills: readonly Skill[], name: string): Skill | undefined {
  return skills.find((skill) => nameKey(skill.name) === nameKey(name))
}

/** The skill, where it is active in this run. */
export function activeSkill({ active }: RunSkills, name: string): Skill {
  const found = active.get(name)
  if (!found) throw new Error(`the skill "${name}" is not active; call skills_use({ "name": "${name}" }) first`)
  return found.skill
}
