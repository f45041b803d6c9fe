import { fullyVisible } from '../../platform/visible-text.ts'
import type { SkillProblem } from '../../skills/skill.ts'

/** What is wrong with a skill, on one line. */
export function problemLine({ path, problem, isSkipped }: SkillProblem): string {
  return fullyVisible(`${path}: ${isSkipped ? 'left out: ' : ''}${problem}`)
}
