import { messageOf } from '../core/errors.ts'
import type { Skill, SkillsConfig } from './skill.ts'

/** Throws unless a skill may be used now: what a project brings is asked about each time, because trust can be taken back. */
export async function requireTrust(skill: Skill, { trustProjectSkills = true }: SkillsConfig): Promise<void> {
  if (skill.source !== 'project') return
  const refused = `The skill "${skill.name}" comes from this project`
  if (typeof trustProjectSkills === 'boolean') {
    if (!trustProjectSkills) throw new Error(`${refused}, whose skills are not trusted (skills.trustProjectSkills)`)
    return
  }
  let isTrusted: unknown
  try {
    isTrusted = await trustProjectSkills(skill.entry ?? skill.folder ?? '')
  } catch (error) {
    throw new Error(`${refused}, and nobody could tell whether it is trusted: ${messageOf(error)}`)
  }
  if (isTrusted !== true) throw new Error(`${refused}, and it is not trusted as it is now; have a person look at it`)
}
