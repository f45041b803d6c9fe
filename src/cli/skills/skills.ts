import { resolve } from 'node:path'
import { fullyVisible, visibleName, visibleText } from '../../platform/visible-text.ts'
import { resolveSkills } from '../../skills/resolve-skills.ts'
import type { Skill, SkillProblem } from '../../skills/skill.ts'
import { listResources, readInstructions } from '../../skills/skill-files.ts'
import { nameKey } from '../../skills/skill-name.ts'
import { validateSkill } from '../../skills/validate-skill.ts'
import { openWorkspace } from '../assembly/workspace.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { ParsedArgs } from '../command.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { table } from '../table.ts'
import { jsonText, shortLine } from '../text.ts'

export interface SkillsQuery {
  readonly cwd?: string
  readonly claude?: boolean
}

/** The skills an agent has in a folder. Asks no questions, and opens nothing of a project that is not trusted. */
export async function findSkills(
  { cwd: named, claude: wanted = false }: SkillsQuery,
  io: Io,
): Promise<
  Awaited<ReturnType<typeof resolveSkills>> & { readonly notices: readonly string[]; readonly isTrusted: boolean }
> {
  const cwd = await resolveCwd(named, io)
  const { project, loaded } = await openWorkspace(cwd, { io })
  try {
    const notices = [...loaded.warnings]
    const claude = wanted || loaded.config.claudeSkills === true
    if (project.state === 'restricted' || project.state === 'declined')
      notices.push(
        `${fullyVisible(project.root)} is not trusted, so its skills are left out; to see them and decide: libero trust`,
      )
    const trustProjectSkills = project.isTrusted() && ((folder: string) => project.mayRead(folder))
    const found = await resolveSkills({ cwd, claude, home: io.userHome, liberoHome: io.home, trustProjectSkills })
    return { ...found, notices, isTrusted: project.isTrusted() }
  } finally {
    project.dispose()
  }
}

/** The problem of a skill, on one line. */
export function problemLine({ path, problem, isSkipped }: SkillProblem): string {
  return fullyVisible(`${path}: ${isSkipped ? 'left out: ' : ''}${problem}`)
}

/** `libero skills list`. */
export async function list({ values }: ParsedArgs, io: Io): Promise<number> {
  const { json, ...query } = values as SkillsQuery & { readonly json?: boolean }
  const { skills, problems, leftOut, notices } = await findSkills(query, io)
  if (json) {
    io.out(jsonText({ skills, problems, notices }))
    return exitCodes.done
  }
  if (skills.length === 0)
    io.err(
      'There are no skills in this folder; a skill is a folder with a SKILL.md in .agents/skills or ~/.agents/skills',
    )
  else for (const line of table(['skill', 'from', 'says'], skills, { row, below })) io.out(line)
  for (const { skill } of leftOut)
    io.err(
      `${visibleName(skill.name)} is left out: no file in this folder matches ${visibleName(skill.paths?.join(', ') ?? '')}`,
    )
  for (const problem of problems) io.err(problemLine(problem))
  for (const notice of notices) io.err(notice)
  return exitCodes.done
}

const row = ({ name, source, description }: Skill): string[] => [visibleName(name), source, shortLine(description)]

const below = ({ path, isHidden }: Skill): string[] => [
  ...(path === undefined ? [] : [visibleName(path)]),
  ...(isHidden ? ['hidden from the model; only you can use it'] : []),
]

/** `libero skills show`. */
export async function show({ values, words: [name] }: ParsedArgs, io: Io): Promise<number> {
  if (name === undefined) throw new UsageError('skills show takes the name of a skill; list them with: libero skills')
  const { skills, leftOut, problems, notices } = await findSkills(values as SkillsQuery, io)
  const all = [...skills, ...leftOut.map((one) => one.skill)]
  const skill = all.find((one) => nameKey(one.name) === nameKey(name))
  if (!skill) {
    for (const notice of notices) io.err(notice)
    throw new CliError(`There is no skill ${visibleName(name)} in this folder; list them with: libero skills`)
  }
  for (const line of factsOf(skill)) io.out(line)
  io.out('')
  io.out(visibleText(await readInstructions(skill)))
  const files = skill.folder === undefined ? [] : await listResources(skill.folder)
  if (files.length > 0) io.out(`\nfiles:\n${files.map((file) => `  ${visibleName(file)}`).join('\n')}`)
  for (const problem of problems) if (problem.path === skill.path) io.err(problemLine(problem))
  return exitCodes.done
}

function factsOf({ metadata = {}, ...skill }: Skill): string[] {
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['name', skill.name],
    ['description', skill.description],
    ['from', `${skill.source}${skill.folder === undefined ? '' : `, ${skill.folder}`}`],
    ['license', skill.license],
    ['compatibility', skill.compatibility],
    ['allowed tools', skill.allowedTools?.join(' ')],
    ['paths', skill.paths?.join(', ')],
    ['model', skill.model],
    ['thinking', skill.thinking],
    ['hidden', skill.isHidden ? 'yes: from the model' : undefined],
    ...Object.entries(metadata),
  ]
  return facts.flatMap(([key, value]) => (value === undefined ? [] : [`${visibleName(key)}: ${visibleName(value)}`]))
}

/** `libero skills validate`. Needs no trust: the caller named the folder. */
export async function validate({ words }: ParsedArgs, io: Io): Promise<number> {
  if (words.length === 0) throw new UsageError('skills validate takes folders of skills; name at least one')
  let count = 0
  for (const word of words) {
    const problems = await validateSkill(resolve(io.cwd, word))
    count += problems.length
    if (problems.length === 0) io.out(`${fullyVisible(word)}: valid`)
    for (const { problem } of problems) io.out(fullyVisible(`${word}: ${problem}`))
  }
  return count === 0 ? exitCodes.done : exitCodes.error
}
