import { messageOf } from '../../core/errors.ts'
import { createFileMcpCredentialStore } from '../../mcp/oauth/file-credential-store.ts'
import { loginMcpServer } from '../../mcp/oauth/login-mcp-server.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { Io } from '../io.ts'
import { findServers, requireServer } from './find-servers.ts'

/** Logins to MCP servers that clients of a server begin, and a browser ends. */
export interface ServedLogins {
  /** Begins a login, or gives the address of the one that is under way. */
  begin(name: string): Promise<{ readonly url: string }>
  /** What became of the last login, if it is not done. */
  stateOf(name: string): LoginState | undefined
  /** Ends the logins under way; nothing of them is stored. */
  close(): void
}

/** The address of a login is given only to the caller who begins it. */
type LoginState = { readonly state: 'open' } | { readonly state: 'failed'; readonly problem: string }

interface Login {
  /** Rejects if the login fails before there is an address. */
  readonly url: Promise<string>
  state: LoginState
}

export function createServedLogins(io: Io, query: { readonly mcp?: readonly string[] }): ServedLogins {
  const logins = new Map<string, Login>()
  const closing = new AbortController()

  async function run(name: string, openBrowser: (url: string) => void): Promise<void> {
    const config = requireServer(name, await findServers(query, io))
    const store = createFileMcpCredentialStore(io.home)
    await loginMcpServer(config, { store, signal: closing.signal, openBrowser })
  }

  function start(name: string): Login {
    const { promise: url, resolve, reject } = Promise.withResolvers<string>()
    const login: Login = { url, state: { state: 'open' } }
    let hasAddress = false
    const open = (address: string): void => {
      hasAddress = true
      resolve(address)
    }
    run(name, open).then(
      () => logins.delete(name),
      (error: unknown) => {
        login.state = { state: 'failed', problem: fullyVisible(messageOf(error)) }
        if (!hasAddress) logins.delete(name) // the caller gets the error
        reject(error)
      },
    )
    return login
  }

  return {
    async begin(name) {
      const known = logins.get(name)
      const login = known?.state.state === 'open' ? known : start(name)
      logins.set(name, login)
      return { url: await login.url }
    },
    stateOf: (name) => logins.get(name)?.state,
    close: () => closing.abort(new Error('the server was closed')),
  }
}
