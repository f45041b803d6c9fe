import type { HookContexts } from '../core/hook-map.ts'
import type { Hooks } from '../core/hooks.ts'
import { compareTexts } from '../core/text.ts'
import { withoutHidden } from '../platform/visible-text.ts'
import { mostDescription } from './parse-skill.ts'
import { resolveSkills } from './resolve-skills.ts'
import type { Skill, SkillsConfig } from './skill.ts'

/**
 * The catalogue for the model: names and descriptions sorted by name, so that the same skills give the same bytes. Empty
 * if there are none; hidden skills are left out. With very many skills, descriptions are shortened or dropped.
 */
export function buildCatalog(skills: readonly Skill[]): string {
  const offered = skills.filter(({ isHidden }) => !isHidden).toSorted((a, b) => compareTexts(a.name, b.name))
  if (offered.length === 0) return ''
  for (const most of [mostDescription, 300, 100, 0]) {
    const text = `<available_skills>\n${offered.map((skill) => entryOf(skill, most)).join('\n')}\n</available_skills>`
    if (text.length <= mostCharacters || most === 0) return text
  }
  return ''
}

/** About 16,000 tokens, which every request contains. */
const mostCharacters = 65_536

function entryOf({ name, description }: Skill, most: number): string {
  if (most === 0) return `<skill><name>${escaped(name)}</name></skill>`
  return `<skill>\n<name>${escaped(name)}</name>\n<description>${escaped(cut(description, most))}</description>\n</skill>`
}

function cut(description: string, most: number): string {
  const signs = [...withoutHidden(description).text]
  return signs.length > most ? `${signs.slice(0, most - 1).join('')}…` : signs.join('')
}

function escaped(text: string): string {
  return withoutHidden(text).text.replace(/[&<>]/g, (sign) => entities[sign] ?? sign)
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** The skills and their catalogue. */
export interface Catalog {
  readonly skills: readonly Skill[]
  readonly catalog: string
}

/** Finds the skills of an agent once; concurrent callers share the result. A failure is retried. */
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
