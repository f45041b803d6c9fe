import { UsageError } from '../cli-error.ts'
import type { ParsedArgs } from '../command.ts'
import type { runFlags } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { continuesSession, readImages, resolveCwd } from './flag-files.ts'
import { isFullTerminal } from './full-terminal.ts'
import { readTask } from './read-task.ts'

/** `libero run`: from the flags to the exit code. */
export async function runTask({ values, words }: ParsedArgs<typeof runFlags>, io: Io): Promise<number> {
  const cwd = await resolveCwd(values.cwd, io)
  await readImages(values, cwd) // reports a missing image before anything starts
  const isConversation = values.plain && words.length === 0 && values.prompt === undefined
  const stdin = values.events || isConversation ? 'taken' : continuesSession(values) ? 'more' : 'task'
  const task = await readTask({ words, prompt: values.prompt }, io, stdin)
  if (values.json || values.events)
    return (await import('./run-for-program.ts')).runForProgram(values, task, { io, cwd })
  if (task === undefined && isFullTerminal(io, values))
    return (await import('../chat/run-chat.ts')).runChat(values, { io, cwd })
  if (task === undefined && !continuesSession(values) && !io.stdin.isTTY)
    throw new UsageError('there is no task; write it as in: libero "list the files here", or pipe it in')
  return (await import('./run-at-terminal.ts')).runAtTerminal(values, task, { io, cwd })
}
