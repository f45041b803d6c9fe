import type { CommandContext } from '../../chat/command.ts'
import type { CommandWork } from '../../chat/lazy-command.ts'
import type { Io } from '../io.ts'
import { showOutput } from './show-output.ts'

export const mcp = (io: Io): CommandWork => ({
  complete: async (_, context) => (await serversOf(io, context)).map(({ name, detail }) => ({ text: name, detail })),
  async run(argument, context) {
    const { screen } = context
    const servers = await serversOf(io, context)
    if (servers.length === 0) return screen.print('There are no MCP servers in this folder; libero mcp add adds one')
    const items = servers.map(({ name, detail }) => ({ label: name, detail }))
    const chosen = argument === '' ? await screen.choose({ title: 'MCP servers', items }) : undefined
    const name = argument || (chosen === undefined ? undefined : servers[chosen]?.name)
    if (name === undefined) return
    const what = await screen.choose({ title: name, items: actions.map(({ label }) => ({ label })) })
    const action = what === undefined ? undefined : actions[what]
    if (action)
      await showOutput(io, { context, title: `MCP server ${name}`, ...action.manner }, (inside) =>
        action.run(name, inside),
      )
  },
})

interface Action {
  /** Begins with its key. */
  readonly label: string
  readonly manner: { readonly isLive?: true }
  run(name: string, io: Io): Promise<number>
}

const actions: readonly Action[] = [
  {
    label: 't  test it, and show its tools',
    manner: {},
    run: async (name, io) => (await import('../mcp/test-servers.ts')).testServers({ values: {}, words: [name] }, io),
  },
  {
    label: 'l  log in',
    manner: { isLive: true },
    run: async (name, io) => (await import('../mcp/login.ts')).logIn(name, {}, io),
  },
  {
    label: 'o  log out',
    manner: { isLive: true },
    run: async (name, io) => (await import('../mcp/login.ts')).logOut(name, {}, io),
  },
]

async function serversOf(
  io: Io,
  { chat }: Pick<CommandContext, 'chat'>,
): Promise<readonly { readonly name: string; readonly detail: string }[]> {
  const { findServers } = await import('../mcp/find-servers.ts')
  const { createFileMcpCredentialStore } = await import('../../mcp/oauth/file-credential-store.ts')
  const { folder } = chat.state.settings
  const { entries } = await findServers(folder === undefined ? {} : { cwd: folder }, io)
  const logins = await createFileMcpCredentialStore(io.home).list()
  return entries
    .filter(({ shadowedBy }) => !shadowedBy)
    .map(({ name, config, where, isDisabled, error }) => {
      const state = isDisabled ? 'disabled' : (error?.message ?? config?.transport ?? '')
      const login = logins.some((one) => one.name === name) ? ', logged in' : ''
      return { name, detail: `${state}${login}; ${where}` }
    })
}
