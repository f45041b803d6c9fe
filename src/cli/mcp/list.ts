import { messageOf } from '../../core/errors.ts'
import type { McpCredential } from '../../mcp/oauth/credential.ts'
import { createFileMcpCredentialStore } from '../../mcp/oauth/file-credential-store.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { exitCodes } from '../cli-error.ts'
import { entryWithoutSecrets } from '../config/settings.ts'
import type { Io } from '../io.ts'
import { table } from '../table.ts'
import { jsonText } from '../text.ts'
import { findServers, type PendingServer } from './find-servers.ts'
import type { ServerEntry } from './gather-servers.ts'
import { shownServer } from './server-entry.ts'

interface ListValues {
  readonly mcp?: readonly string[]
  readonly cwd?: string
  readonly json?: boolean
}

interface ListedServer {
  /** Absent if its file was not opened. */
  readonly name?: string
  readonly transport?: string
  readonly from: ServerEntry['from']
  readonly where: string
  readonly state: 'used' | 'off' | 'shadowed' | 'wrong' | 'pending'
  /** Why the server is not used. */
  readonly problem?: string
  readonly login?: string
  /** Set for a server that a person can log in to, or is logged in to. */
  readonly isLoggedIn?: boolean
  /** As written, without secrets. */
  readonly entry?: unknown
}

/** All servers in a folder, with their state, without secrets. */
export async function listServers(
  query: Omit<ListValues, 'json'>,
  io: Io,
): Promise<{ readonly servers: readonly ListedServer[]; readonly notices: readonly string[] }> {
  const { entries, pending, notices } = await findServers(query, io)
  const logins = await createFileMcpCredentialStore(io.home)
    .list()
    .catch((error: unknown) => messageOf(error))
  const known = typeof logins === 'string' ? [] : logins
  const servers = [...entries.map((entry) => listed(entry, known)), ...pending.map(listedPending)]
  return { servers, notices: [...notices, ...(typeof logins === 'string' ? [fullyVisible(logins)] : [])] }
}

/** `libero mcp list`. */
export async function list({ json, ...query }: ListValues, io: Io): Promise<number> {
  const { servers, notices } = await listServers(query, io)
  if (json) {
    io.out(jsonText({ servers, notices }))
    return exitCodes.done
  }
  if (servers.length === 0) io.err('There are no MCP servers in this folder; add one with: libero mcp add <name> …')
  else for (const line of table(['server', 'transport', 'from', 'state'], servers, { row, below })) io.out(line)
  for (const notice of notices) io.err(notice)
  return exitCodes.done
}

function listed(server: ServerEntry, logins: readonly McpCredential[]): ListedServer {
  const { name, from, where, entry, config, isDisabled, error, shadowedBy } = server
  const login = loginOf(server, logins)
  const same = {
    name,
    from,
    where,
    ...(config && { transport: config.transport }),
    entry: entryWithoutSecrets(entry),
    ...login,
  }
  if (shadowedBy) return { ...same, state: 'shadowed', problem: `the one in ${shadowedBy.where} is used instead` }
  if (isDisabled) return { ...same, state: 'off', problem: 'disabled in its entry' }
  return error ? { ...same, state: 'wrong', problem: error.message } : { ...same, state: 'used' }
}

function listedPending({ name, where, why, entry }: PendingServer): ListedServer {
  return {
    ...(name !== undefined && { name }),
    from: 'project',
    where,
    state: 'pending',
    problem: why,
    ...(entry !== undefined && { entry: entryWithoutSecrets(entry) }),
  }
}

function loginOf(
  { name, config }: ServerEntry,
  logins: readonly McpCredential[],
): Pick<ListedServer, 'login' | 'isLoggedIn'> {
  if (config?.url === undefined) return {}
  const { href } = new URL(config.url)
  const login = logins.find((one) => one.name === name && one.server === href)
  if (login) return { login: `logged in at ${login.issuer}`, isLoggedIn: true }
  if (config.auth !== 'oauth') return {}
  return { login: `not logged in; see: libero mcp login ${name}`, isLoggedIn: false }
}

const row = ({ name = '?', transport = '–', from, state }: ListedServer): string[] => [
  visibleName(name),
  transport,
  from,
  state,
]

const below = ({ where, entry, login, problem }: ListedServer): string[] => [
  fullyVisible(where),
  ...shownServer(entry),
  ...[login, problem].flatMap((text) => (text === undefined ? [] : [fullyVisible(text)])),
]
