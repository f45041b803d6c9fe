import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { spotsOf } from './spots.ts'
import { zshScript } from './zsh.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** `libero completion <shell>`. */
export async function printCompletion(
  shell: string | undefined,
  all: () => Promise<readonly Command[]>,
  io: Io,
): Promise<number> {
  const names = Object.keys(scripts)
  if (shell === undefined) throw new UsageError(`for which shell? One of ${names.join(', ')}`)
  if (!Object.hasOwn(scripts, shell))
    throw new UsageError(
      `there are no completions for "${fullyVisible(shell)}"${didYouMean(shell, names) || `; there are for ${names.join(', ')}`}`,
    )
  io.out(scripts[shell as keyof typeof scripts](spotsOf(await all())))
  return exitCodes.done
}
