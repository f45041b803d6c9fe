import type { Agent } from '../../core/agent.ts'
import { messageOf } from '../../core/errors.ts'
import { type McpServerConfig, MissingVariableError } from '../../mcp/config.ts'
import type { McpConnector } from '../../mcp/connections.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { ConfigError } from '../config/check-config.ts'
import { userConnector } from './connector.ts'
import { followServers } from './follow-servers.ts'
import { gatherServers, type ServerEntry } from './gather-servers.ts'
import type { ServersContext } from './servers.ts'

/** The MCP servers of an agent. None is started yet. */
export interface OpenedServers {
  readonly options: { readonly mcpServers: readonly McpServerConfig[]; readonly mcpConnector: McpConnector }
  /** Messages for a person at the start. */
  readonly notices: readonly string[]
  /** Messages about servers that lack an environment variable; `follow` reports them to the view. */
  readonly missing: readonly string[]
  /** Reports to the view what happens to the servers of this agent. */
  follow(agent: Pick<Agent, 'hooks'>): void
}

/** Chooses the servers of an agent. An invalid server of the user throws; one of a project is left out with a notice. */
export function openServers(
  flags: readonly ServerEntry[],
  { workspace, io, view, only }: ServersContext,
): OpenedServers {
  const all = gatherServers({ flags, workspace, io }).filter(({ from }) => only === undefined || from === 'flag')
  const wrong = all.find((one) => one.from === 'user' && isMistake(one))
  if (wrong) throw new ConfigError(`${fullyVisible(wrong.where)}: ${fullyVisible(messageOf(wrong.error))}`)
  const used = all.filter(({ config, shadowedBy }) => config !== undefined && shadowedBy === undefined)
  const configs = used.map(({ config }) => config!)
  const ofProject = new Set(used.filter(({ from }) => from === 'project').map(({ name }) => name))
  const { project, loaded } = workspace
  const { revoked } = project
  const missing = all.flatMap(({ name, error }) =>
    error instanceof MissingVariableError
      ? [`MCP server "${visibleName(name)}" is not available: ${fullyVisible(error.message)}`]
      : [],
  )
  return {
    options: {
      mcpServers: configs,
      mcpConnector: userConnector(io.home, loaded.config, {
        until: ({ name }) => (ofProject.has(name) ? revoked : undefined),
      }),
    },
    notices: all.flatMap(noticesAbout),
    missing,
    follow(agent) {
      for (const line of missing) view.failed(line)
      followServers(agent.hooks, configs, view)
      if (ofProject.size === 0) return
      const names = [...ofProject].map(visibleName).join(', ')
      const tell = (): void =>
        view.failed(
          `The project is no longer trusted: its MCP servers (${names}) were stopped, and their tools removed`,
        )
      revoked.addEventListener('abort', tell, { once: true })
    },
  }
}

const isMistake = ({ error, shadowedBy }: ServerEntry): boolean =>
  error !== undefined && shadowedBy === undefined && !(error instanceof MissingVariableError)

/** Notices about servers of a project that are left out. */
function noticesAbout({ name, from, where, error, shadowedBy }: ServerEntry): string[] {
  if (from !== 'project' || shadowedBy?.isDisabled) return []
  const shown = `${fullyVisible(where)}: the MCP server "${visibleName(name)}" is left out`
  if (shadowedBy?.from === 'project') return [`${shown}: ${fullyVisible(shadowedBy.where)} has a server of that name`]
  if (shadowedBy) return [`${shown}: you have a server of that name; rename yours to use both`]
  if (error === undefined || error instanceof MissingVariableError) return []
  return [`${shown}: ${fullyVisible(messageOf(error))}`]
}
