import { isAbsolute, resolve } from 'node:path'
import { type ProjectItem, refusedVariables } from '../../authority/trust/project-items.ts'
import { isDisabled, type McpServerConfig, MissingVariableError, readMcpEntry } from '../../mcp/config.ts'
import type { Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { entryProblem } from './server-entry.ts'

/** A configured server, and why it is not used, if so. */
export interface ServerEntry {
  readonly name: string
  readonly from: 'flag' | 'user' | 'project'
  /** `--mcp`, or the file. */
  readonly where: string
  /** As written in the file or flag. */
  readonly entry: unknown
  /** Absent if the server cannot be used. */
  readonly config?: McpServerConfig
  /** The entry says that it is disabled. */
  readonly isDisabled?: true
  /** Why the entry is invalid. */
  readonly error?: Error
  /** The server of the same name that is used instead. */
  readonly shadowedBy?: ServerEntry
}

interface Sources {
  /** From `readMcpFlags`. */
  readonly flags?: readonly ServerEntry[]
  readonly workspace: Workspace
  readonly io: Pick<Io, 'env' | 'cwd'>
}

/** All configured servers: those of flags first, then the user's, then the accepted ones of the project. */
export function gatherServers({ flags = [], workspace, io }: Sources): readonly ServerEntry[] {
  const { loaded, project, cwd } = workspace
  const file = loaded.origins.mcpServers ?? 'config.json'
  // Undefined unless it differs: stored knowledge about a server depends on its folder.
  const elsewhere = cwd === io.cwd ? undefined : cwd
  const own = Object.entries(loaded.config.mcpServers ?? {}).map(([name, entry]) =>
    read({ name, from: 'user', where: file, entry }, { variables: io.env, folder: elsewhere }),
  )
  const variables = projectVariables(io.env)
  const ofProject = project.items
    .filter(({ server }) => server !== undefined)
    .toSorted((a, b) => rank(a) - rank(b))
    .map(({ server, path }) => read({ ...server!, from: 'project', where: path }, { variables, folder: project.root }))
  const given = flags.map((one) => withFolder(one, { folder: elsewhere }))
  return markShadowed([...given.map(withoutDisabled), ...own, ...ofProject])
}

interface Reading {
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The default folder of the server. */
  readonly folder: string | undefined
}

function read(server: ServerEntry, { variables, ...place }: Reading): ServerEntry {
  if (isDisabled(server.entry)) return { ...server, isDisabled: true }
  try {
    const config = readMcpEntry(server.name, server.entry, variables)
    return withFolder({ ...server, config }, place)
  } catch (error) {
    if (error instanceof MissingVariableError) return { ...server, error }
    if (error instanceof TypeError) return { ...server, error: new TypeError(entryProblem(error), { cause: error }) }
    throw error
  }
}

function withoutDisabled(server: ServerEntry): ServerEntry {
  const { config: _, ...rest } = server
  return isDisabled(server.entry) ? { ...rest, isDisabled: true } : server
}

/** A program runs in the working folder of the agent, not in the one where `libero` was called. */
function withFolder(server: ServerEntry, { folder }: Pick<Reading, 'folder'>): ServerEntry {
  const { config } = server
  if (config?.transport !== 'stdio' || folder === undefined) return server
  if (config.cwd !== undefined && isAbsolute(config.cwd)) return server
  return { ...server, config: { ...config, cwd: resolve(folder, config.cwd ?? '.') } }
}

/** The variables that a project's entries may use. The trust code rejects entries that name others. */
function projectVariables(env: Io['env']): Reading['variables'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => refusedVariables(`\${${name}}`).length === 0))
}

/** `.libero/mcp.json` takes precedence over `.mcp.json`. */
const rank = ({ id }: ProjectItem): number => (id.startsWith('.libero/') ? 0 : 1)

/** Of several servers with the same name, the first is used, even if it is disabled. */
function markShadowed(servers: readonly ServerEntry[]): readonly ServerEntry[] {
  return servers.map((server, i) => {
    const first = servers.findIndex(({ name }) => name === server.name)
    return first < i ? { ...server, shadowedBy: servers[first]! } : server
  })
}
