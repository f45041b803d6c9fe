import { visibleName, visibleText } from '../../platform/visible-text.ts'
import { readInstructions } from '../../skills/read-instructions.ts'
import { listResources } from '../../skills/resources.ts'
import type { Skill } from '../../skills/skill.ts'
import { nameKey } from '../../skills/skill-name.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { Given } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { problemLine } from './problem-line.ts'
import { type SkillsWish, skillsHere } from './skills-here.ts'

/** `libero skills show`. */
export async function show({ values, words: [name] }: Given, io: Io): Promise<number> {
  if (name === undefined) throw new UsageError('skills show takes the name of a skill; see them with: libero skills')
  const { skills, leftOut, problems, notices } = await skillsHere(values as SkillsWish, io)
  const all = [...skills, ...leftOut.map((one) => one.skill)]
  const skill = all.find((one) => nameKey(one.name) === nameKey(name))
  if (!skill) {
    for (const notice of notices) io.err(notice)
    throw new CliError(`there is no skill ${visibleName(name)} here; see those there are with: libero skills`)
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
    ['hidden', skill.isHidden ? 'yes: the model is not told of it' : undefined],
    ...Object.entries(metadata),
  ]
  return facts.flatMap(([key, value]) => (value === undefined ? [] : [`${visibleName(key)}: ${visibleName(value)}`]))
}
