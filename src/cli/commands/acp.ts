import { UsageError } from '../cli-error.ts'
import { defineCommand, type Values } from '../command.ts'
import type { Io } from '../io.ts'
import { checkServed, servedFlags } from './run.ts'

/** The flags of `libero acp`, as they were given. */
export type AcpValues = Values<typeof servedFlags>

export const command = defineCommand({
  name: 'acp',
  summary: 'Serve an editor over the Agent Client Protocol',
  words: '[login]',
  details: [
    'An editor starts this command and talks to it over stdin and stdout: Zed, the IDEs of JetBrains, Neovim, Emacs (docs/editors.md says how to set them up). One process serves any number of sessions, each in the folder that the editor names. Sessions are those of this user: one that was begun with libero run can be continued in the editor, and the other way round.',
    'The editor asks the person about calls that need an approval. Where it offers them, files are read and written through the editor, and commands without a sandbox run in its terminals. A project is trusted in a terminal, with libero trust.',
    'libero acp login is libero login, for editors that open a terminal for it.',
  ],
  flags: servedFlags,
  examples: [
    { line: 'libero acp', says: 'As an editor would start it' },
    { line: 'libero acp --provider anthropic --mode plan', says: 'With a model, and reading only at first' },
    { line: 'libero acp login', says: 'What an editor runs in a terminal when no model is set up' },
  ],
  async run({ values, words }, io) {
    if (words.length > 0) return logIn(words, values, io)
    checkServed(values)
    // Before anything else is loaded: its output must not mix with the messages.
    const { reserveStdout } = await import('../rpc/reserve-stdout.ts')
    const { frames, restore } = reserveStdout(io)
    try {
      const { acp } = await import('../acp/acp.ts')
      return await acp(values, io, frames)
    } catch (error) {
      restore()
      throw error
    }
  },
})

/** The editor adds the word to the command that it is set up with, so that its flags stand before it. */
async function logIn([word, ...more]: readonly string[], { provider }: AcpValues, io: Io): Promise<number> {
  if (word !== 'login' || more.length > 1)
    throw new UsageError(`acp takes no task; the editor sends it. The only argument is login, got "${word}"`)
  return (await import('../login/log-in.ts')).logIn(more[0] ?? provider, {}, io)
}
