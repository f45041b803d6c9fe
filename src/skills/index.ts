export { buildCatalog } from './catalog.ts'
export { type ResolvedSkills, resolveSkills } from './resolve-skills.ts'
export { defineSkill, type Skill, type SkillDefinition, type SkillProblem, type SkillsConfig } from './skill.ts'
export { validateSkill } from './validate-skill.ts'
