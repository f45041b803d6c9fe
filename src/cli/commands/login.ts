import { UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

/** `libero login`. */
export const command = defineCommand({
  name: 'login',
  summary: 'Store a key, or log in through the browser',
  words: '[provider]',
  details: [
    'Type the key at the prompt, which does not show it, or pipe it in; it is never an argument, because other users of this machine could read it. It is stored in credentials.json in your own folder (LIBERO_HOME, else ~/.libero), readable only by you; an environment variable such as ANTHROPIC_API_KEY also works, and takes precedence.',
  ],
  flags: {
    'key-stdin': { type: 'boolean', says: 'Read the key from stdin' },
    browser: { type: 'boolean', says: 'Log in with a ChatGPT account in the browser (openai only)' },
    check: { type: 'boolean', says: 'Check with the service that it accepts the key before storing it' },
    list: { type: 'boolean', says: 'List what is stored, without the secrets' },
    openai: { type: 'boolean', says: 'Same as the argument openai' },
    anthropic: { type: 'boolean', says: 'Same as the argument anthropic' },
  },
  examples: [
    { line: 'libero login anthropic', says: 'Asks for the key' },
    { line: 'libero login openai --browser', says: 'With a ChatGPT account' },
    { line: 'libero login groq --key-stdin --check < key.txt', says: 'For a script' },
    { line: 'libero login --list', says: 'What is stored, and when it expires' },
  ],
  async run({ values, words }, io) {
    const { openai, anthropic, ...rest } = values
    const named = [...words, ...(openai ? ['openai'] : []), ...(anthropic ? ['anthropic'] : [])]
    if (words.length > 1) throw (await import('../login/log-in.ts')).keyAsArgument()
    if (named.length > 1) throw new UsageError('login takes one provider at a time')
    const { list, logIn } = await import('../login/log-in.ts')
    return rest.list ? list(io) : logIn(named[0], rest, io)
  },
})
