import { visibleName } from '../../platform/visible-text.ts'
import type { Skill } from '../../skills/skill.ts'
import type { Given } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { jsonText } from '../json-text.ts'
import { shortLine } from '../short-line.ts'
import { problemLine } from './problem-line.ts'
import { type SkillsWish, skillsHere } from './skills-here.ts'

/** `libero skills list`. */
export async function list({ values }: Given, io: Io): Promise<number> {
  const { json, ...wish } = values as SkillsWish & { readonly json?: boolean }
  const { skills, problems, leftOut, notices } = await skillsHere(wish, io)
  if (json) {
    io.out(jsonText({ skills, problems, notices }))
    return exitCodes.done
  }
  if (skills.length === 0)
    io.err('There are no skills here; each is a folder with a SKILL.md in .agents/skills or ~/.agents/skills')
  for (const line of tableOf(skills)) io.out(line)
  for (const { skill } of leftOut)
    io.err(
      `${visibleName(skill.name)} is left out: no file here is one of ${visibleName(skill.paths?.join(', ') ?? '')}`,
    )
  for (const problem of problems) io.err(problemLine(problem))
  for (const notice of notices) io.err(notice)
  return exitCodes.done
}

function tableOf(skills: readonly Skill[]): string[] {
  if (skills.length === 0) return []
  const rows = [
    ['skill', 'from', 'says'],
    ...skills.map(({ name, source, description }) => [visibleName(name), source, shortLine(description)]),
  ]
  const widths = [0, 1].map((i) => Math.max(...rows.map((row) => row[i]!.length)))
  return rows.flatMap((row, i) => {
    const skill = skills[i - 1]
    const line = row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
    return skill ? [line, ...below(skill)] : [line]
  })
}

function below({ path, isHidden }: Skill): string[] {
  return [
    ...(path === undefined ? [] : [`    ${visibleName(path)}`]),
    ...(isHidden ? ['    the model is not told of it; only you can use it'] : []),
  ]
}
