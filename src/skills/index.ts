export { buildCatalog } from './catalog.ts'
export { type FindOptions, type FoundSkills, findSkills, type MayOpen, type SkillRoot } from './find-skills.ts'
export { type ParsedSkill, parseSkill, type SkillFacts } from './parse-skill.ts'
export { type ResolvedSkills, resolveSkills } from './resolve-skills.ts'
export {
  defineSkill,
  type Skill,
  type SkillDefinition,
  type SkillProblem,
  type SkillSource,
  type SkillsConfig,
} from './skill.ts'
export { listResources, readInstructions } from './skill-files.ts'
export { validateSkill } from './validate-skill.ts'
