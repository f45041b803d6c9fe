import { createFileMcpCredentialStore } from '../../mcp/oauth/file-credential-store.ts'
import { logoutMcpServer } from '../../mcp/oauth/logout-mcp-server.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { namedServer } from './named-server.ts'
import { serversAround } from './servers-around.ts'

/** `libero mcp logout`: also of a server that is not configured any more. */
export async function logOut(name: string | undefined, values: { readonly cwd?: string }, io: Io): Promise<number> {
  const logins = await createFileMcpCredentialStore(io.home).list()
  if (name === undefined || !logins.some((login) => login.name === name))
    namedServer(name, await serversAround(values, io))
  return forgetLogin(name!, io)
}

/** Ends every login to a server of that name. */
export async function forgetLogin(name: string, io: Io): Promise<number> {
  const store = createFileMcpCredentialStore(io.home)
  const { removed, revoked } = await logoutMcpServer({ name, transport: 'streamable-http' }, { store })
  const shown = fullyVisible(name)
  if (removed === 0) io.err(`There was no login to "${shown}"`)
  else
    io.err(
      `The login to "${shown}" is forgotten${revoked === removed ? ', and its tokens are revoked' : '; its server was not told, or does not revoke tokens'}`,
    )
  return exitCodes.done
}
