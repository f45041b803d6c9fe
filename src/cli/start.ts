import { UsageError } from './cli-error.ts'
import type { Io } from './io.ts'
import { isDumbTerminal, isFullTerminal } from './run/full-terminal.ts'
import { readStdin } from './run/read-task.ts'

/** How long bare `libero` waits for a task on stdin. */
const stdinWaitMs = 300

/**
 * `libero` without arguments: a task piped in on stdin; at a terminal the interactive one; else the demo, if no
 * model is set up.
 */
export async function start(io: Io): Promise<number> {
  const piped = await readStdin(io, stdinWaitMs)
  const { command: run } = await import('./commands/run.ts')
  if (piped !== undefined) return run.run!({ values: { prompt: piped }, words: [] }, io)
  const isDumb = isDumbTerminal(io)
  if (isDumb || isFullTerminal(io, {}))
    return (await import('./chat/run-chat.ts')).runChat(isDumb ? { plain: true } : {}, { io, cwd: io.cwd })
  const { loadConfig } = await import('./config/config.ts')
  const { config } = await loadConfig({ home: io.home })
  const { chooseModel, NoModelError } = await import('./models/choose-model.ts')
  const chosen = await chooseModel({}, config, io).catch((error: unknown) => {
    if (error instanceof NoModelError) return undefined
    throw error
  })
  if (chosen && chosen.name !== 'offline')
    throw new UsageError('there is no task; write it as in: libero "list the files here"')
  const { command: demo } = await import('./commands/demo.ts')
  return demo.run!({ values: {}, words: [] }, io)
}
