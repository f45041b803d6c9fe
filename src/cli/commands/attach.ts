import { UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

/** `libero attach`. */
export const command = defineCommand({
  name: 'attach',
  summary: 'Join a session that another process on this machine runs',
  words: '<session>',
  maxWords: 1,
  details: [
    'Shows the session as it goes on, with what the model is writing. What you type steers its run, Esc stops it, and what it waits for is answered here. When its run has ended, your next message continues the session in this process.',
  ],
  flags: {},
  examples: [{ line: 'libero attach 3f2a', says: 'Joins the session whose id begins so; libero sessions lists them' }],
  async run({ words: [session] }, io) {
    if (session === undefined || session === '')
      throw new UsageError('attach needs the id of a session; libero sessions lists them')
    const { isFullTerminal } = await import('../run/full-terminal.ts')
    if (!isFullTerminal(io, {}))
      throw new UsageError(
        'attach needs an interactive terminal; to follow a session from a script: libero sessions show',
      )
    const { runChat } = await import('../chat/run-chat.ts')
    return runChat({}, { io, cwd: io.cwd, attach: session })
  },
})
