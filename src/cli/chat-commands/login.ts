import type { CommandContext } from '../../chat/command.ts'
import type { CommandWork } from '../../chat/lazy-command.ts'
import { userConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { openCredentials } from '../models/credentials.ts'
import { knownProviders } from '../models/providers.ts'
import { showOutput } from './show-output.ts'

export const login = (io: Io): CommandWork => ({
  complete: async () => (await providerNames(io)).map((text) => ({ text })),
  async run(argument, context) {
    const { screen } = context
    const provider = argument || (await choose('Log in to', await providerNames(io), context))
    if (provider === undefined) return
    const { logIn } = await import('../login/log-in.ts')
    const way = provider === 'openai' ? await choose('How?', ['with a key', 'in the browser'], context) : 'with a key'
    if (way === 'in the browser')
      return showOutput(io, { context, title: 'Login', isLive: true }, (inside) =>
        logIn(provider, { browser: true }, inside),
      )
    const key = way && (await screen.ask(`Key of ${provider}, which is not shown`, '', { isSecret: true }))?.trim()
    if (!key) return
    await showOutput(io, { context, title: 'Login', input: key }, (inside) =>
      logIn(provider, { 'key-stdin': true }, inside),
    )
  },
})

export const logout = (io: Io): CommandWork => ({
  complete: async () => (await (await openCredentials(io)).list()).map(({ name }) => ({ text: name })),
  async run(argument, context) {
    const stored = (await (await openCredentials(io)).list()).map(({ name }) => name)
    if (stored.length === 0) throw new Error('No key and no login is stored')
    const provider = argument || (await choose('Delete the key or login of', stored, context))
    if (provider === undefined) return
    const { command } = await import('../commands/logout.ts')
    await showOutput(io, { context, title: 'Logout' }, (inside) =>
      command.run!({ values: {}, words: [provider] }, inside),
    )
  },
})

async function providerNames(io: Io): Promise<readonly string[]> {
  const known = knownProviders((await userConfig(io.home))?.config ?? {})
  return [...known.values()].filter(({ isFree }) => !isFree).map(({ name }) => name)
}

async function choose(
  title: string,
  names: readonly string[],
  { screen }: CommandContext,
): Promise<string | undefined> {
  const index = await screen.choose({ title, items: names.map((label) => ({ label })) })
  return index === undefined ? undefined : names[index]
}
