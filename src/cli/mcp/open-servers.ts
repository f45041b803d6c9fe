import type { Agent } from '../../core/agent.ts'
import { messageOf } from '../../core/errors.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Hooks } from '../../core/hooks.ts'
import { AgentClosedError } from '../../mcp/agent-closed-error.ts'
import { type McpServerConfig, MissingVariableError } from '../../mcp/config.ts'
import type { McpConnector } from '../../mcp/connections.ts'
import { secretsOf, toErrorText } from '../../mcp/error-text.ts'
import { fullyVisible, visibleName } from '../../platform/visible-text.ts'
import { ConfigError } from '../config/check-config.ts'
import { userConnector } from './connector.ts'
import { gatherServers, type ServerEntry } from './gather-servers.ts'
import type { ServersContext, ServersView } from './servers.ts'

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

/** The state of a server that the person was last told. */
type ServerState = 'connecting' | 'connected' | 'lost' | 'missing'

/** Reports to the view when a server is waited for, not available, lost or connected again. Each state once. */
export function followServers(
  hooks: Pick<Hooks<HookContexts>, 'hook'>,
  configs: readonly McpServerConfig[],
  view: ServersView,
): void {
  const states = new Map<string, ServerState>()
  const needLogin = new Set<string>()
  const waiting = createWaitNotice(view)

  const reportMissing = (name: string, why: string): void => {
    states.set(name, 'missing')
    const login = `MCP server "${name}" needs a login: libero mcp login ${name}`
    view.failed(
      needLogin.has(name) ? login : `MCP server "${name}" is not available: ${why}; continuing without its tools`,
    )
  }

  hooks.hook('mcp:bootstrap:start', ({ name }) => {
    states.set(name, 'connecting')
    waiting.add(name)
  })
  hooks.hook('mcp:bootstrap:end', ({ name, ok, error }) => {
    waiting.delete(name)
    if (ok) states.set(name, 'connected')
    else if (isClosing(error)) states.set(name, 'missing')
    else reportMissing(name, reasonOf(name, error, configs))
  })
  hooks.hook('mcp:auth:required', ({ name }) => {
    const isNew = !needLogin.has(name) && states.get(name) !== 'connecting' // else the end of its bootstrap reports it
    needLogin.add(name)
    if (isNew) reportMissing(name, '')
  })
  hooks.hook('mcp:connect', ({ name }) => {
    const before = states.get(name)
    if (before === 'connecting') return
    states.set(name, 'connected')
    needLogin.delete(name)
    if (before !== 'connected') view.notice(`MCP server "${name}" is connected${before === 'lost' ? ' again' : ' now'}`)
  })
  hooks.hook('mcp:reconnect', ({ name, reason }) => {
    if (states.get(name) !== 'connected') return
    states.set(name, 'lost')
    view.notice(`MCP server "${name}" ${withoutServerName(name, reason)}; connecting again`)
  })
  hooks.hook('mcp:error', ({ name, error }) => {
    const state = states.get(name)
    if (state === 'lost') reportMissing(name, reasonOf(name, error, configs))
    else if (state === 'connected') view.notice(`MCP server "${name}": ${reasonOf(name, error, configs)}`)
  })
}

/** A server that connects faster is not reported. */
const noticeDelayMs = 1000

function createWaitNotice(view: ServersView) {
  const names = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let isShown = false
  const show = (): void => {
    const [first, ...more] = names
    const others = more.length > 0 ? ` and ${more.length} more` : ''
    view.waiting(`waiting for MCP server "${first}"${others}…`)
    isShown = true
  }
  return {
    add(name: string): void {
      names.add(name)
      timer ??= setTimeout(show, noticeDelayMs).unref()
    },
    delete(name: string): void {
      names.delete(name)
      if (names.size > 0) {
        if (isShown) show()
        return
      }
      clearTimeout(timer)
      timer = undefined
      if (isShown) view.waiting(undefined)
      isShown = false
    },
  }
}

/** The connection was given up because the run ended or the project's trust was revoked, which is reported elsewhere. */
const isClosing = (error: unknown): boolean => error instanceof AgentClosedError

/** The error on one line, without secrets. */
function reasonOf(name: string, error: unknown, configs: readonly McpServerConfig[]): string {
  const config = configs.find((one) => one.name === name)
  return withoutServerName(name, toErrorText(error, config && secretsOf(config)).replace(/\s+/g, ' '))
}

/** The surrounding message names the server already. */
function withoutServerName(name: string, reason: string): string {
  return reason
    .replace(`The MCP server "${name}" `, () => '')
    .replace(`The connection to the MCP server "${name}" `, () => '')
}
