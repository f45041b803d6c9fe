import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import { defineCommand } from '../command.ts'

/** `libero logout`. */
export const command = defineCommand({
  name: 'logout',
  summary: 'Delete a stored key or login',
  words: '[provider]',
  maxWords: 1,
  details: ['The provider may be left out if only one is stored. Keys in the environment are not changed.'],
  flags: { all: { type: 'boolean', says: 'Delete everything that is stored' } },
  examples: [
    { line: 'libero logout openai', says: 'Deletes its key or login' },
    { line: 'libero login --list', says: 'What is stored' },
  ],
  async run({ values: { all = false }, words: [named] }, io) {
    const [{ openCredentials, variableOf }, { knownProviders }, { fullyVisible }] = await Promise.all([
      import('../models/credentials.ts'),
      import('../models/providers.ts'),
      import('../../platform/visible-text.ts'),
    ])
    if (all && named !== undefined) throw new UsageError('--all and a provider do not go together; choose one of them')
    const store = await openCredentials(io)
    const stored = (await store.list()).map(({ name }) => name)
    const shown = stored.map((name) => fullyVisible(name)).join(', ') || 'nothing'
    if (named === undefined && !all && stored.length > 1)
      throw new UsageError(`which one? Stored are ${shown}; name it, or add --all`)
    const names = named === undefined ? stored : [named]
    if (names.length === 0) throw new CliError('nothing is stored, so there is nothing to delete')
    for (const name of names) {
      // This also deletes an entry that this version cannot read.
      if (!(await store.remove(name)))
        throw new CliError(
          `nothing is stored for ${fullyVisible(name)}; ${stored.length === 0 ? 'nor is anything else' : `stored are: ${shown}`}`,
        )
      io.err(`deleted what was stored for ${fullyVisible(name)}`)
      const provider = knownProviders({}).get(name)
      const variable = provider && variableOf(provider, io)
      if (variable) io.err(`${variable} is still set in the environment`)
    }
    return exitCodes.done
  },
})
