export { buildCatalog } from './catalog.ts'
export { resolveSkills } from './resolve-skills.ts'
export { defineSkill, type Skill, type SkillDefinition, type SkillProblem, type SkillsConfig } from './skill.ts'
export { validateSkill } from './validate-skill.ts'
