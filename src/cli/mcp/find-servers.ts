import { projectNames } from '../../authority/trust/project-names.ts'
import { messageOf } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { openWorkspace, type Workspace } from '../assembly/workspace.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { gatherServers, type ServerEntry } from './gather-servers.ts'
import { parseMcpFlags } from './servers.ts'

/** All configured servers, used or not. */
interface FoundServers {
  readonly entries: readonly ServerEntry[]
  /** Servers of the project that are not trusted yet. */
  readonly pending: readonly PendingServer[]
  readonly notices: readonly string[]
}

export interface PendingServer {
  /** Unknown if the project is not trusted, because its files are not read. */
  readonly name?: string
  readonly where: string
  readonly why: string
  readonly entry?: unknown
}

interface ServersQuery {
  readonly mcp?: readonly string[]
  readonly cwd?: string
}

/** Finds the configured servers. Asks no questions, starts nothing, and opens nothing of a project that is not trusted. */
export async function findServers({ mcp, cwd }: ServersQuery, io: Io): Promise<FoundServers> {
  const flags = await parseMcpFlags(mcp, io)
  const workspace = await openWorkspace(await resolveCwd(cwd, io), { io })
  workspace.project.dispose() // no need to watch for a revocation
  const { project, loaded } = workspace
  const entries = gatherServers({ ...(flags && { flags }), workspace, io })
  const pending = project.isTrusted() ? pendingServers(workspace) : await untrustedServers(workspace)
  return { entries, pending, notices: loaded.warnings }
}

function pendingServers({ project }: Workspace): PendingServer[] {
  return project.pending
    .filter(({ kind }) => kind === 'mcp')
    .map(({ path, server, why, problem }) => ({
      ...server,
      where: path,
      why: problem === undefined ? `it is ${why} and was not accepted yet; see: libero trust` : fullyVisible(problem),
    }))
}

async function untrustedServers({ project }: Workspace): Promise<PendingServer[]> {
  const { names } = await projectNames(project.root)
  const why = 'the project is not trusted, so it was not opened; see: libero trust'
  return names.filter(({ kind }) => kind === 'mcp').map(({ path }) => ({ where: path, why }))
}

/** The usable server of that name; the error says why it cannot be used, or which one was probably meant. */
export function requireServer(name: string | undefined, { entries, pending }: FoundServers): McpServerConfig {
  const entry = entries.find((one) => one.name === name && !one.shadowedBy)
  if (entry?.config) return entry.config
  if (entry) throw unusable(entry)
  const names = entries.map((one) => one.name)
  if (name === undefined) throw new UsageError(`name an MCP server; ${namesNote(names)}`)
  const shown = fullyVisible(name)
  const waiting = pending.find((one) => one.name === name)
  if (waiting) throw new CliError(`the MCP server "${shown}" is not used: ${waiting.why}`)
  const which = didYouMean(name, names) || `; ${namesNote(names)}`
  throw new UsageError(`there is no MCP server "${shown}"${which}${unopenedNote(pending)}`)
}

/** All servers that can be used. */
export function usableServers({ entries }: Pick<FoundServers, 'entries'>): readonly McpServerConfig[] {
  return entries.flatMap(({ config, shadowedBy }) => (config && !shadowedBy ? [config] : []))
}

/** The end of a message: files of servers that were not opened, because the project is not trusted. */
export const unopenedNote = (pending: FoundServers['pending']): string =>
  pending
    .filter((one) => one.name === undefined)
    .map(({ where, why }) => `; ${fullyVisible(where)} was not read: ${why}`)
    .join('')

/** The end of a message: the names of the servers. */
export const namesNote = (names: readonly string[]): string =>
  names.length > 0
    ? `there are ${[...new Set(names)].map((one) => fullyVisible(one)).join(', ')}`
    : 'there are none yet; see: libero mcp add --help'

function unusable({ name, where, error, isDisabled }: ServerEntry): CliError {
  const shown = `the MCP server "${fullyVisible(name)}" of ${fullyVisible(where)}`
  if (isDisabled) return new CliError(`${shown} is disabled; remove "disabled" from its entry`)
  return new CliError(`${shown} cannot be used: ${fullyVisible(messageOf(error))}`)
}
