import { UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { readStdin } from './read-stdin.ts'

/** How long a pipe may stay silent that nobody said to wait for. */
const patienceMs = 1000

/**
 * The task: `--prompt`, the words, and what was piped in. Stdin is waited for where there is no task but what it says
 * (`more`: there is one), and where `-` stands among the words; or it is `taken` by something else.
 */
export async function readTask(
  given: { readonly prompt?: string | undefined; readonly words: readonly string[] },
  io: Pick<Io, 'stdin' | 'isStdinEmpty'>,
  stdin: 'task' | 'more' | 'taken' = 'task',
): Promise<string | undefined> {
  if (given.prompt !== undefined && given.words.some((word) => word !== '-'))
    throw new UsageError('the task was given twice, with --prompt and as words; give it once')
  const isAwaited = given.words.includes('-')
  const said = given.prompt ?? given.words.filter((word) => word !== '-').join(' ')
  const isNeeded = stdin === 'task' && said.trim() === ''
  const piped = stdin === 'taken' ? '' : await readStdin(io, isNeeded || isAwaited ? undefined : patienceMs)
  return (
    [said, piped ?? '']
      .map((text) => text.trim())
      .filter((text) => text !== '')
      .join('\n\n') || undefined
  )
}
