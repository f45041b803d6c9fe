import { UsageError } from '../cli-error.ts'
import type { Given } from '../command.ts'
import type { runFlags } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { folderOf } from './folder.ts'
import { readTask } from './read-task.ts'
import { isGoingOn, picturesOf } from './run-options.ts'
import { workAtTerminal } from './work-at-terminal.ts'

/** `libero run`: from the flags to the exit code. */
export async function work({ values, words }: Given<typeof runFlags>, io: Io): Promise<number> {
  const cwd = await folderOf(values.cwd, io)
  await picturesOf(values, cwd) // one that is not there is said before anything is begun
  const stdin = values.events ? 'taken' : isGoingOn(values) ? 'more' : 'task'
  const task = await readTask({ words, prompt: values.prompt }, io, stdin)
  if (values.json || values.events)
    return (await import('./work-for-program.ts')).workForProgram(values, task, { io, cwd })
  if (task === undefined && !isGoingOn(values) && !io.stdin.isTTY)
    throw new UsageError('there is no task; say it as in: libero "list the files here", or pipe it in')
  return workAtTerminal(values, task, { io, cwd })
}
