import { printable } from '../core/errors.ts'
import type { McpToolHookContext } from '../core/feature-hooks.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { HookScope } from '../core/hooks.ts'
import { nameForModel } from '../core/provider.ts'
import type { Extension, Run } from '../core/run.ts'
import { defaultTimeoutMs, type ToolDef } from '../core/tool.ts'
import type { CallContext } from '../core/tool-context.ts'
import { toolOutputByteLength } from '../core/tool-output.ts'
import { normalizeResult } from '../core/tool-result.ts'
import { parseTool } from '../core/toolbox.ts'
import { copyJson, deepFreeze } from '../core/turn.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnections, McpConnector, McpServer } from './connections.ts'

/** The tools of MCP servers, connected once per agent, on first need. */
export interface McpExtension extends Extension {
  /** All servers, connected or not. */
  readonly servers: readonly McpServer[]
}

export function mcpTools(configs: readonly McpServerConfig[], connect: McpConnector): McpExtension {
  let connecting: Promise<McpConnections> | undefined
  let connections: McpConnections | undefined
  let closeEarly: (() => Promise<void>) | undefined
  let connectedAt = 0
  return {
    name: 'mcp',
    get servers() {
      return connections?.servers ?? []
    },
    async warmup(host) {
      connecting ??= connect(configs, {
        ...host,
        closeEarly: (close) => {
          closeEarly = close
        },
      })
      try {
        connections = await connecting
        connectedAt = host.clock.now()
      } catch (error) {
        connecting = undefined
        throw error
      }
    },
    async start(run, hooks) {
      if (run.tools.isFixed || !connections) return
      // A person may have logged in since the last run.
      if (run.facts.depth === 0 && run.clock.now() - connectedAt > justNowMs) await connectWaiting(connections)
      const { tools } = connections
      const offered = createRunTools(run, hooks, configs)
      offered.update(tools)
      // A server may connect late or change its tools; the model's tools change between two turns only.
      hooks.hook('request:prepare', (request) => {
        if (offered.update(connections?.tools ?? tools)) request.tools = run.tools.specs
      })
    },
    async dispose() {
      if (connections) return connections.close()
      // A server that never answers must not delay the end; a late connection is closed at once.
      void connecting?.then((late) => late.close()).catch(() => {})
      await closeEarly?.()
    },
  }
}

const justNowMs = 1000

async function connectWaiting({ servers = [] }: McpConnections): Promise<void> {
  const waiting = servers.filter(({ state }) => state === 'needs-login')
  await Promise.allSettled(waiting.map((server) => server.connect()))
}

/** Keeps the tools of a run equal to those of its servers. */
function createRunTools(run: Run, hooks: HookScope<HookContexts>, configs: readonly McpServerConfig[]) {
  const ours = new Map<string, ToolDef>()
  const guard = createChangedToolGuard(hooks)
  let current: McpConnections['tools'] | undefined

  function add(tool: ToolDef, key: string): void {
    try {
      run.tools.add(withMcpHooks(guard(parseTool(tool, key)), originOf(tool, configs), run))
      ours.set(key, tool)
    } catch (error) {
      // One bad tool of a server must not stop a run.
      const config = configs.find(({ name }) => key.startsWith(`mcp_${name}_`)) ?? configs[0]
      const server = { name: config?.name ?? key, transport: config?.transport ?? 'stdio' }
      void run.hooks.tell('mcp:error', { ...server, error })
    }
  }

  return {
    /** Returns whether anything changed. */
    update(tools: McpConnections['tools']): boolean {
      if (tools === current) return false
      current = tools
      for (const [key, tool] of ours) {
        if (tools[key] === tool) continue
        ours.delete(key)
        run.tools.remove(tool.spec.name)
      }
      for (const [key, tool] of Object.entries(tools)) if (!ours.has(key)) add(tool, key)
      return true
    },
  }
}

/** The server of a tool: as the tool says, or from its name `mcp_{server}_{tool}`. */
function originOf({ mcp, spec }: ToolDef, configs: readonly McpServerConfig[]): NonNullable<ToolDef['mcp']> {
  const config = configs.find(({ name }) => (mcp ? name === mcp.server : spec.name.startsWith(`mcp_${name}_`)))
  const { name: server = '', disclosure } = config ?? {}
  const known = mcp ?? { server, tool: spec.name.slice(`mcp_${server}_`.length) }
  return { ...(disclosure && { disclosure }), ...known }
}

/** A tool whose definition changed runs only if a person allowed the call, as an authority ensures. Without an authority it is refused. */
function createChangedToolGuard(hooks: HookScope<HookContexts>): (tool: ToolDef) => ToolDef {
  const allowedByPerson = new Set<string>()
  let isListening = false

  function listen(): void {
    if (isListening) return
    isListening = true
    hooks.hook('tool:decision', ({ callId, decision: { verdict, by } }) => {
      if (verdict === 'allow' && (by === 'person' || by === 'grant')) allowedByPerson.add(callId)
    })
  }

  return (tool) => {
    if (!tool.origin?.isChanged) return tool
    listen()
    return {
      ...tool,
      execute: (input, ctx) => (allowedByPerson.delete(ctx.callId) ? tool.execute(input, ctx) : refusal(tool)),
    }
  }
}

function refusal({ spec, mcp }: ToolDef): { output: string; isError: true } {
  return {
    output: `Blocked: the MCP server "${mcp?.server}" changed what ${spec.name} says about itself since it was accepted, and no person has allowed it since; ask the user to accept it`,
    isError: true,
  }
}

/** Adds the four `mcp:tool:*` hooks around the remote call. For the tool pipeline they are part of EXECUTE. */
function withMcpHooks(tool: ToolDef, mcp: NonNullable<ToolDef['mcp']>, run: Run): ToolDef {
  const { hooks } = run
  const { timeoutMs = defaultTimeoutMs } = tool
  const at = { server: mcp.server, tool: mcp.tool }
  return {
    ...tool,
    mcp,
    effects: tool.effects ?? [`mcp:${at.server}.${at.tool}`],
    timeoutMs: 0, // the limit applies to the remote call alone, not to persons at the gate
    async execute(input, ctx) {
      const { name } = tool.spec
      const displayName = nameForModel(run.provider, name)
      const frozen = deepFreeze(copyJson(input)) // hooks cannot change what was judged
      const context: McpToolHookContext = {
        turnId: ctx.turnId,
        callId: ctx.callId,
        name,
        displayName,
        input: frozen,
        ...at,
      }
      const gate: HookContexts['mcp:tool:gate'] = { ...context, block: false, reason: '' }
      await hooks.ask('mcp:tool:gate', gate)
      ctx.signal.throwIfAborted()
      if (gate.block)
        return { output: `Blocked: ${printable(gate.reason) || 'this call is not allowed'}`, isError: true }
      if (gate.result === undefined) await hooks.tell('mcp:tool:before', context)
      ctx.signal.throwIfAborted()
      const remote = async () => gate.result ?? (await tool.execute(input, ctx))
      const done = normalizeResult(await (ctx as CallContext).within(timeoutMs, remote()))
      const outputBytes = toolOutputByteLength(done.output)
      const result = { ...context, result: done.output, isError: done.isError, outputBytes }
      await hooks.ask('mcp:tool:transform', result)
      const { output, isError } = normalizeResult({ output: result.result, isError: result.isError })
      await hooks.tell('mcp:tool:after', {
        ...context,
        result: output,
        isError,
        outputBytes: toolOutputByteLength(output),
      })
      return { ...done, output, isError }
    },
  }
}
