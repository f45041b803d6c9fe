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
import { parseMcpFlags } from './servers-here.ts'

/** Every server that is written down here, used or not. */
export interface FoundServers {
  readonly entries: readonly ServerEntry[]
  /** What waits for somebody to trust it. */
  readonly pending: readonly PendingServer[]
  readonly notices: readonly string[]
}

export interface PendingServer {
  /** Of a project that is not trusted only the file is known. */
  readonly name?: string
  readonly where: string
  readonly why: string
  readonly entry?: unknown
}

interface ServersQuery {
  readonly mcp?: readonly string[]
  readonly cwd?: string
}

/** Looks for them. Nobody is asked, nothing is started, and nothing of a project that is not trusted is opened. */
export async function findServers({ mcp, cwd }: ServersQuery, io: Io): Promise<FoundServers> {
  const flags = await parseMcpFlags(mcp, io)
  const workspace = await openWorkspace(await resolveCwd(cwd, io), { io })
  workspace.project.dispose() // it is over in a moment; nobody has to hear of a revocation
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
      why: problem === undefined ? `it is ${why} and nobody has accepted it; see: libero trust` : fullyVisible(problem),
    }))
}

async function untrustedServers({ project }: Workspace): Promise<PendingServer[]> {
  const { names } = await projectNames(project.root)
  const why = 'the project is not trusted, so it was not opened; see: libero trust'
  return names.filter(({ kind }) => kind === 'mcp').map(({ path }) => ({ where: path, why }))
}

/** The server that is meant by a name, as it can be used; else a sentence with why not, or which one was probably meant. */
export function requireServer(name: string | undefined, { entries, pending }: FoundServers): McpServerConfig {
  const entry = entries.find((one) => one.name === name && !one.shadowedBy)
  if (entry?.config) return entry.config
  if (entry) throw unusable(entry)
  const shown = fullyVisible(needed(name, entries))
  const waiting = pending.find((one) => one.name === name)
  if (waiting) throw new CliError(`the MCP server "${shown}" is not used: ${waiting.why}`)
  const names = entries.map((one) => one.name)
  const which = didYouMean(name!, names) || `; ${listOf(names)}`
  throw new UsageError(`there is no MCP server "${shown}"${which}${unopenedNote(pending)}`)
}

/** Every server that can be used. */
export function usableServers({ entries }: Pick<FoundServers, 'entries'>): readonly McpServerConfig[] {
  return entries.flatMap(({ config, shadowedBy }) => (config && !shadowedBy ? [config] : []))
}

/** That there may be more, for the end of a sentence: what a project has is not known before it is trusted. */
export const unopenedNote = (pending: FoundServers['pending']): string =>
  pending
    .filter((one) => one.name === undefined)
    .map(({ where, why }) => `; of ${fullyVisible(where)} nothing is known: ${why}`)
    .join('')

function needed(name: string | undefined, entries: readonly ServerEntry[]): string {
  if (name !== undefined) return name
  throw new UsageError(`which MCP server? ${listOf(entries.map((one) => one.name))}`)
}

/** Which there are, for the end of a sentence. */
export const listOf = (names: readonly string[]): string =>
  names.length > 0
    ? `there are ${[...new Set(names)].map((one) => fullyVisible(one)).join(', ')}`
    : 'there are none yet; see: libero mcp add --help'

function unusable({ name, where, error, isDisabled }: ServerEntry): CliError {
  const shown = `the MCP server "${fullyVisible(name)}" of ${fullyVisible(where)}`
  if (isDisabled) return new CliError(`${shown} is turned off; take "disabled" out of its entry`)
  return new CliError(`${shown} cannot be used: ${fullyVisible(messageOf(error))}`)
}
