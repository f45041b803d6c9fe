import { printable } from '../core/errors.ts'
import type { McpToolHookContext } from '../core/feature-hooks.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { HookScope } from '../core/hooks.ts'
import { shownName } from '../core/provider.ts'
import type { Extension, Run } from '../core/run.ts'
import { defaultTimeoutMs, type ToolDef } from '../core/tool.ts'
import type { CallContext } from '../core/tool-context.ts'
import { toolOutputByteLength } from '../core/tool-output.ts'
import { readToolResult } from '../core/tool-result.ts'
import { readTool } from '../core/toolbox.ts'
import { copyJson, deepFreeze } from '../core/turn.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnections, McpConnector, McpServer } from './connections.ts'

/** The tools of MCP servers, connected once per agent, on first need. */
export interface McpExtension extends Extension {
  /** Those that were connected to, ready or not. */
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
      // Somebody may have logged in since the last run.
      if (run.facts.depth === 0 && run.clock.now() - connectedAt > justNowMs) await connectWaiting(connections)
      const { tools } = connections
      const offered = createOffer(run, hooks, configs)
      offered.show(tools)
      // A server may come late, or change what it offers; the model hears of it between two turns, never within one.
      hooks.hook('request:prepare', (request) => {
        if (offered.show(connections?.tools ?? tools)) request.tools = run.tools.specs
      })
    },
    async dispose() {
      if (connections) return connections.close()
      // A server that never answers must not hold up the end; if it comes after all, it is let go at once.
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

/** What a run has of its servers. */
function createOffer(run: Run, hooks: HookScope<HookContexts>, configs: readonly McpServerConfig[]) {
  const ours = new Map<string, ToolDef>()
  const accept = createChangedToolGuard(hooks)
  let shown: McpConnections['tools'] | undefined

  function add(tool: ToolDef, key: string): void {
    try {
      run.tools.add(withMcpHooks(accept(readTool(tool, key)), originOf(tool, configs), run))
      ours.set(key, tool)
    } catch (error) {
      // One bad tool of a server must not stop a run.
      const config = configs.find(({ name }) => key.startsWith(`mcp_${name}_`)) ?? configs[0]
      const about = { name: config?.name ?? key, transport: config?.transport ?? 'stdio' }
      void run.hooks.tell('mcp:error', { ...about, error })
    }
  }

  return {
    /** Says whether anything is otherwise than before. */
    show(tools: McpConnections['tools']): boolean {
      if (tools === shown) return false
      shown = tools
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

/** Where a tool comes from, by its own word or by its name `mcp_{server}_{tool}`. */
function originOf({ mcp, spec }: ToolDef, configs: readonly McpServerConfig[]): NonNullable<ToolDef['mcp']> {
  const config = configs.find(({ name }) => (mcp ? name === mcp.server : spec.name.startsWith(`mcp_${name}_`)))
  const { name: server = '', disclosure } = config ?? {}
  const known = mcp ?? { server, tool: spec.name.slice(`mcp_${server}_`.length) }
  return { ...(disclosure && { disclosure }), ...known }
}

/**
 * A tool whose definition changed runs only after a person looked at the call, which is what an authority makes sure of. Where there
 * is no authority nobody did, and it does not run.
 */
export function createChangedToolGuard(hooks: HookScope<HookContexts>): (tool: ToolDef) => ToolDef {
  const seenByPerson = new Set<string>()
  let isListening = false

  function listen(): void {
    if (isListening) return
    isListening = true
    hooks.hook('tool:decision', ({ callId, decision: { verdict, by } }) => {
      if (verdict === 'allow' && (by === 'person' || by === 'grant')) seenByPerson.add(callId)
    })
  }

  return (tool) => {
    if (!tool.origin?.isChanged) return tool
    listen()
    return {
      ...tool,
      execute: (input, ctx) => (seenByPerson.delete(ctx.callId) ? tool.execute(input, ctx) : refusal(tool)),
    }
  }
}

function refusal({ spec, mcp }: ToolDef): { output: string; isError: true } {
  return {
    output: `Blocked: the MCP server "${mcp?.server}" changed what ${spec.name} says about itself since it was accepted, and nobody has looked at it since; ask the user to accept it`,
    isError: true,
  }
}

/** The four `mcp:tool:*` moments around a remote call; to the pipeline outside they are part of EXECUTE. */
export function withMcpHooks(tool: ToolDef, mcp: NonNullable<ToolDef['mcp']>, run: Run): ToolDef {
  const { hooks } = run
  const { timeoutMs = defaultTimeoutMs } = tool
  const at = { server: mcp.server, tool: mcp.tool }
  return {
    ...tool,
    mcp,
    effects: tool.effects ?? [`mcp:${at.server}.${at.tool}`],
    timeoutMs: 0, // people at the gate take their time; the limit holds for the remote call alone
    async execute(input, ctx) {
      const { name } = tool.spec
      const displayName = shownName(run.provider, name)
      const shown = deepFreeze(copyJson(input)) // what was judged is what is sent
      const about: McpToolHookContext = {
        turnId: ctx.turnId,
        callId: ctx.callId,
        name,
        displayName,
        input: shown,
        ...at,
      }
      const gate: HookContexts['mcp:tool:gate'] = { ...about, block: false, reason: '' }
      await hooks.ask('mcp:tool:gate', gate)
      ctx.signal.throwIfAborted()
      if (gate.block)
        return { output: `Blocked: ${printable(gate.reason) || 'this call is not allowed'}`, isError: true }
      if (gate.result === undefined) await hooks.tell('mcp:tool:before', about)
      ctx.signal.throwIfAborted()
      const remote = async () => gate.result ?? (await tool.execute(input, ctx))
      const done = readToolResult(await (ctx as CallContext).within(timeoutMs, remote()))
      const outputBytes = toolOutputByteLength(done.output)
      const result = { ...about, result: done.output, isError: done.isError, outputBytes }
      await hooks.ask('mcp:tool:transform', result)
      const { output, isError } = readToolResult({ output: result.result, isError: result.isError })
      await hooks.tell('mcp:tool:after', {
        ...about,
        result: output,
        isError,
        outputBytes: toolOutputByteLength(output),
      })
      return { ...done, output, isError }
    },
  }
}
