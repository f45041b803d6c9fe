import { UsageError } from './cli-error.ts'
import type { Io } from './io.ts'
import { readStdin } from './run/read-task.ts'

/** How long bare `libero` waits for a task on stdin. */
const stdinWaitMs = 300

/** `libero` without arguments: runs a task piped in on stdin, else the demo if no model is set up, else a conversation. */
export async function start(io: Io): Promise<number> {
  const piped = await readStdin(io, stdinWaitMs)
  const { command: run } = await import('./commands/run.ts')
  if (piped !== undefined) return run.run!({ values: { prompt: piped }, words: [] }, io)
  const { loadConfig } = await import('./config/config.ts')
  const { config } = await loadConfig({ home: io.home })
  const { chooseModel, NoModelError } = await import('./models/choose-model.ts')
  const chosen = await chooseModel({}, config, io).catch((error: unknown) => {
    if (error instanceof NoModelError) return undefined
    throw error
  })
  if (!chosen || chosen.name === 'offline') {
    const { command: demo } = await import('./commands/demo.ts')
    return demo.run!({ values: {}, words: [] }, io)
  }
  if (!io.stdin.isTTY) throw new UsageError('there is no task; write it as in: libero "list the files here"')
  return run.run!({ values: {}, words: [] }, io)
}
