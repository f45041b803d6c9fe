import type { HookContexts } from '../../core/hook-map.ts'
import type { Hooks } from '../../core/hooks.ts'
import { AgentClosedError } from '../../mcp/agent-closed-error.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import { secretsOf, toErrorText } from '../../mcp/error-text.ts'
import type { ServersView } from './servers.ts'

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
