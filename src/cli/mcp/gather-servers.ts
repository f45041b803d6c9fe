import { isAbsolute, resolve } from 'node:path'
import { type ProjectItem, refusedVariables } from '../../authority/trust/project-items.ts'
import { isDisabled, type McpServerConfig, MissingVariableError, readMcpEntry } from '../../mcp/config.ts'
import type { Workspace } from '../assembly/workspace.ts'
import type { Io } from '../io.ts'
import { entryProblem } from './server-entry.ts'

/** A server that somebody wrote down, and what keeps it from being used, if anything does. */
export interface ServerEntry {
  readonly name: string
  readonly from: 'flag' | 'user' | 'project'
  /** `--mcp`, or the file. */
  readonly where: string
  /** As it is written. */
  readonly entry: unknown
  /** As it is used. Absent where it cannot be. */
  readonly config?: McpServerConfig
  /** Somebody wrote that it is not to be used. */
  readonly isDisabled?: true
  /** Why it cannot be read. */
  readonly error?: Error
  /** Whose server of that name is used in its place. */
  readonly shadowedBy?: ServerEntry
}

interface Sources {
  /** From `readFlags`. */
  readonly flags?: readonly ServerEntry[]
  readonly workspace: Workspace
  readonly io: Pick<Io, 'env' | 'cwd'>
}

/** Every server there is here, those of flags first, then the user's, then what was accepted of the project's. */
export function gatherServers({ flags = [], workspace, io }: Sources): readonly ServerEntry[] {
  const { loaded, project, cwd } = workspace
  const file = loaded.origins.mcpServers ?? 'config.json'
  // Only where it says something: what is remembered about a server depends on its folder.
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
  /** Where it runs, unless it says so itself. */
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

/** A program runs in the folder that is worked in, and not where `libero` happened to be called. */
function withFolder(server: ServerEntry, { folder }: Pick<Reading, 'folder'>): ServerEntry {
  const { config } = server
  if (config?.transport !== 'stdio' || folder === undefined) return server
  if (config.cwd !== undefined && isAbsolute(config.cwd)) return server
  return { ...server, config: { ...config, cwd: resolve(folder, config.cwd ?? '.') } }
}

/** The trust code refuses entries that ask for more; what is not there cannot be sent either. */
function projectVariables(env: Io['env']): Reading['variables'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => refusedVariables(`\${${name}}`).length === 0))
}

/** A project's own file for us counts before the one for everybody. */
const rank = ({ id }: ProjectItem): number => (id.startsWith('.libero/') ? 0 : 1)

/** Of several with one name, the first is meant: also where that one is turned off. */
function markShadowed(servers: readonly ServerEntry[]): readonly ServerEntry[] {
  return servers.map((server, i) => {
    const first = servers.findIndex(({ name }) => name === server.name)
    return first < i ? { ...server, shadowedBy: servers[first]! } : server
  })
}
