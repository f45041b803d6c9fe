import type { McpLoginOptions } from '../../mcp/oauth/browser-login.ts'
import { createFileMcpCredentialStore } from '../../mcp/oauth/file-credential-store.ts'
import { loginMcpServer } from '../../mcp/oauth/login-mcp-server.ts'
import { logoutMcpServer } from '../../mcp/oauth/logout-mcp-server.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { onStop } from '../until-stopped.ts'
import { findServers, requireServer } from './find-servers.ts'

interface LoginValues {
  readonly 'no-browser'?: boolean
  readonly 'client-id'?: string
  readonly 'client-secret-env'?: string
  readonly scope?: readonly string[]
  readonly cwd?: string
}

/** `libero mcp login`. */
export async function logIn(name: string | undefined, values: LoginValues, io: Io): Promise<number> {
  const client = clientOf(values, io)
  const config = requireServer(name, await findServers(values, io))
  const stop = onStop(io)
  try {
    const { issuer, scopes } = await loginMcpServer(config, {
      store: createFileMcpCredentialStore(io.home),
      signal: stop.signal,
      print: (text) => io.err(fullyVisible(text)),
      ...(values['no-browser'] && { openBrowser: () => {} }),
      ...(values.scope && { scopes: values.scope }),
      ...(client && { client }),
    })
    const what = scopes.length > 0 ? ` (${scopes.join(', ')})` : ''
    io.err(fullyVisible(`Logged in to "${config.name}" at ${issuer}${what}; the next run has its tools`))
    return exitCodes.done
  } catch (error) {
    if (stop.signal.aborted)
      throw new CliError('the login was stopped, and nothing was stored', stop.exitCode, { cause: error })
    throw error
  } finally {
    stop.off()
  }
}

function clientOf(values: LoginValues, { env }: Io): McpLoginOptions['client'] {
  const { 'client-id': id, 'client-secret-env': variable } = values
  if (variable === undefined) return id === undefined ? undefined : { id }
  if (id === undefined) throw new UsageError('--client-secret-env belongs to a registered client: add --client-id')
  const secret = env[variable]
  if (!secret)
    throw new UsageError(`the variable ${fullyVisible(variable)}, which --client-secret-env names, is not set`)
  return { id, secret }
}

/** `libero mcp logout`: also for a server that is no longer configured. */
export async function logOut(name: string | undefined, values: { readonly cwd?: string }, io: Io): Promise<number> {
  await requireLogin(name, values, io)
  return forgetLogin(name!, io)
}

/** Throws if there is neither a login nor a server of that name. */
export async function requireLogin(
  name: string | undefined,
  query: Parameters<typeof findServers>[0],
  io: Io,
): Promise<void> {
  const logins = await createFileMcpCredentialStore(io.home).list()
  if (name === undefined || !logins.some((login) => login.name === name))
    requireServer(name, await findServers(query, io))
}

/** Deletes every login to a server of that name, and revokes tokens where the service can do that. */
export const deleteLogins = (
  name: string,
  { home }: Pick<Io, 'home'>,
): Promise<{ readonly removed: number; readonly revoked: number }> =>
  logoutMcpServer({ name, transport: 'streamable-http' }, { store: createFileMcpCredentialStore(home) })

/** The same, and says so. */
export async function forgetLogin(name: string, io: Io): Promise<number> {
  const { removed, revoked } = await deleteLogins(name, io)
  const shown = fullyVisible(name)
  if (removed === 0) io.err(`There was no login to "${shown}"`)
  else
    io.err(
      `Deleted the login to "${shown}"${revoked === removed ? ' and revoked its tokens' : '; its tokens were not revoked'}`,
    )
  return exitCodes.done
}
