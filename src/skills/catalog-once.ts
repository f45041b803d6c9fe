import type { HookContexts } from '../core/hook-map.ts'
import type { Hooks } from '../core/hooks.ts'
import { buildCatalog } from './catalog.ts'
import { resolveSkills } from './resolve-skills.ts'
import type { Skill, SkillsConfig } from './skill.ts'

/** What there is, and what a model is told of it. */
export interface Catalog {
  readonly skills: readonly Skill[]
  readonly catalog: string
}

/** Finds the skills of an agent once, for whoever asks first; all others wait for the same. A failure is tried again. */
export function createCatalog(config: SkillsConfig): (hooks: Hooks<HookContexts>) => Promise<Catalog> {
  let resolving: Promise<Catalog> | undefined
  return (hooks) => {
    resolving ??= resolve(config, hooks).catch((error) => {
      resolving = undefined
      throw error
    })
    return resolving
  }
}

async function resolve(config: SkillsConfig, hooks: Hooks<HookContexts>): Promise<Catalog> {
  const { skills, problems } = await resolveSkills(config)
  await hooks.tell('skills:resolve', { skills, problems })
  const built = { catalog: buildCatalog(skills) }
  await hooks.ask('skills:catalog', built)
  return { skills, catalog: typeof built.catalog === 'string' ? built.catalog.trim() : '' }
}
