import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { compareTexts } from '../core/text.ts'
import { isWithin } from '../platform/source-files.ts'
import { fullyVisible, withoutHidden } from '../platform/visible-text.ts'
import { findSkills, type SkillRoot } from './find-skills.ts'
import { overrideProblems } from './overrides.ts'
import { wherePathsMatch } from './path-globs.ts'
import type { Skill, SkillDefinition, SkillProblem, SkillsConfig } from './skill.ts'
import { nameFaults, nameKey, normalName, whyDangerous } from './skill-name.ts'

/**
 * Finds the skills for a configuration. Of equal names the first wins: those of the program, then `scan`, the project's,
 * the user's. With `enabled: false` nothing is searched.
 */
export async function resolveSkills(config: SkillsConfig = {}): Promise<{
  /** By name. */
  readonly skills: readonly Skill[]
  readonly problems: readonly SkillProblem[]
  /** Usable but not offered: excluded, not enabled, or for other files than those present. */
  readonly leftOut: readonly { readonly skill: Skill; readonly why: 'excluded' | 'not enabled' | 'paths' }[]
}> {
  if (config.enabled === false) return { skills: [], problems: [], leftOut: [] }
  const cwd = await real(resolve(config.cwd ?? process.cwd()))
  const written = writtenSkills(config.write ?? [])
  const { trustProjectSkills: trust = true } = config
  const { roots, problems } = await rootsOf(config, cwd)
  const found = await findSkills(
    roots.filter(({ source }) => source === 'user' || trust !== false),
    typeof trust === 'function' ? { mayOpen: trust } : {},
  )
  const { kept, shadowed } = firstOfEach([...written.skills, ...found.skills])
  const { chosen, leftOut } = choose(kept, config)
  const matching = await wherePathsMatch(chosen, cwd)
  const skills = chosen.filter((skill) => matching.has(skill)).toSorted((a, b) => compareTexts(a.name, b.name))
  return {
    skills,
    problems: [...problems, ...written.problems, ...found.problems, ...shadowed, ...overrideProblems(skills)],
    leftOut: [
      ...leftOut,
      ...chosen.filter((skill) => !matching.has(skill)).map((skill) => ({ skill, why: 'paths' as const })),
    ],
  }
}

/** The folders of `scan`, then the usual ones, in order of precedence. */
async function rootsOf(
  { scan = [], claude = false, home, liberoHome }: SkillsConfig,
  cwd: string,
): Promise<{ roots: readonly SkillRoot[]; problems: readonly SkillProblem[] }> {
  const homeFolder = home ?? homedir()
  const own = liberoHome ?? ((home === undefined && process.env.LIBERO_HOME) || join(homeFolder, '.libero'))
  const user = [
    join(homeFolder, '.agents/skills'),
    join(own, 'skills'),
    ...(claude ? [join(homeFolder, '.claude/skills')] : []),
  ]
  const names = ['.agents/skills', '.libero/skills', ...(claude ? ['.claude/skills'] : [])]
  const theirs = await Promise.all(user.map((path) => real(resolve(cwd, path))))
  const roots: SkillRoot[] = []
  const problems: SkillProblem[] = []
  for (const path of [...scan, ...names].map((name) => resolve(cwd, name))) {
    const target = await real(path)
    // In the home folder, the project's folders are the user's own.
    if (theirs.some((folder) => isWithin(folder, target))) {
      if (!names.some((name) => resolve(cwd, name) === path)) roots.push({ path, source: 'user' })
    } else if (!isWithin(cwd, path)) roots.push({ path, source: isWithin(cwd, target) ? 'project' : 'user' })
    else if (isWithin(cwd, target)) roots.push({ path, source: 'project' })
    else problems.push({ path, problem: `it leads out of the project, to ${fullyVisible(target)}`, isSkipped: true })
  }
  return { roots: [...roots, ...user.map((path) => ({ path: resolve(cwd, path), source: 'user' as const }))], problems }
}

function writtenSkills(definitions: readonly SkillDefinition[]): { skills: Skill[]; problems: SkillProblem[] } {
  const skills: Skill[] = []
  const problems: SkillProblem[] = []
  for (const definition of definitions) {
    const name = normalName(definition.name)
    const description = withoutHidden(definition.description).text.trim()
    const note = (problem: string, isSkipped: boolean) =>
      problems.push({ path: `inline:${fullyVisible(name)}`, problem, isSkipped })
    const danger = whyDangerous(name) ?? (description === '' ? 'it has no description' : undefined)
    if (danger !== undefined) {
      note(danger, true)
      continue
    }
    for (const fault of nameFaults(name)) note(fault, false)
    skills.push({ ...definition, name, description, source: 'inline' })
  }
  return { skills, problems }
}

function firstOfEach(skills: readonly Skill[]): { kept: Skill[]; shadowed: SkillProblem[] } {
  const kept = new Map<string, Skill>()
  const shadowed: SkillProblem[] = []
  for (const skill of skills) {
    const first = kept.get(nameKey(skill.name))
    if (!first) kept.set(nameKey(skill.name), skill)
    // The same file may be found twice.
    else if (first.path === undefined || first.path !== skill.path)
      shadowed.push({
        path: skill.path ?? `inline:${skill.name}`,
        problem: `there is a skill "${first.name}" before it, ${first.path ? `in ${fullyVisible(first.path)}` : 'written by the program'}, which is used`,
        isSkipped: true,
      })
  }
  return { kept: [...kept.values()], shadowed }
}

function choose(
  skills: readonly Skill[],
  { exclude = [], enabled = true }: SkillsConfig,
): { chosen: Skill[]; leftOut: { skill: Skill; why: 'excluded' | 'not enabled' }[] } {
  const excluded = new Set(exclude.map(nameKey))
  const only = typeof enabled === 'boolean' ? undefined : new Set(enabled.map(nameKey))
  const chosen: Skill[] = []
  const leftOut: { skill: Skill; why: 'excluded' | 'not enabled' }[] = []
  for (const skill of skills) {
    if (excluded.has(nameKey(skill.name))) leftOut.push({ skill, why: 'excluded' })
    else if (only && !only.has(nameKey(skill.name))) leftOut.push({ skill, why: 'not enabled' })
    else chosen.push(skill)
  }
  return { chosen, leftOut }
}

function real(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
