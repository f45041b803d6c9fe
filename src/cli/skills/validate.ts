import { resolve } from 'node:path'
import { fullyVisible } from '../../platform/visible-text.ts'
import { validateSkill } from '../../skills/validate-skill.ts'
import { UsageError } from '../cli-error.ts'
import type { Given } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'

/** `libero skills validate`. Whoever names a folder wants it read, so nobody is asked for trust. */
export async function validate({ words }: Given, io: Io): Promise<number> {
  if (words.length === 0) throw new UsageError('skills validate takes the folders of skills; name at least one')
  let count = 0
  for (const word of words) {
    const problems = await validateSkill(resolve(io.cwd, word))
    count += problems.length
    if (problems.length === 0) io.out(`${fullyVisible(word)}: as it should be`)
    for (const { problem } of problems) io.out(fullyVisible(`${word}: ${problem}`))
  }
  return count === 0 ? exitCodes.done : exitCodes.error
}
