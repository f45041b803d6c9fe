import { CodedError } from '../core/errors.ts'
import { withoutHidden } from '../platform/visible-text.ts'
import { splitFrontMatter } from './front-matter.ts'
import type { Skill } from './skill.ts'
import { readWhole } from './skill-file.ts'

/** What a skill tells a model to do, without its front matter, as its file says it now. */
export async function readInstructions({ name, path, instructions }: Skill): Promise<string> {
  if (instructions !== undefined) return withoutHidden(instructions).text.trim()
  if (path === undefined)
    throw new CodedError(
      'Validation/SkillUnreadable',
      `The skill ${name} has neither a file nor instructions; give it one`,
    )
  const parts = splitFrontMatter(await readWhole(path))
  if ('failure' in parts)
    throw new CodedError('Validation/SkillUnreadable', `The skill ${name} changed since it was found: ${parts.failure}`)
  return withoutHidden(parts.body).text
}
