import type { Client } from '@modelcontextprotocol/client'
import type { ToolContext, ToolDef, ToolResult } from '../core/tool.ts'
import { defaultCallTimeout, type McpServerConfig } from './config.ts'
import { readDefinitions, type SeenDefinition } from './definitions/read-definitions.ts'
import { checkInput } from './definitions/schema-check.ts'
import type { KnownTools } from './memory.ts'

/** The difference between two tool lists, by names. */
interface ToolChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

type CallTool = (seen: SeenDefinition, input: Record<string, unknown>, ctx: ToolContext) => Promise<ToolResult>

interface ServerToolsOptions {
  readonly known: KnownTools
  readonly call: CallTool
  onChange(changes: ToolChanges): void
}

/** The last tool list of one server. It stays while the connection is lost, so that the model's tools do not come and go. */
export class ServerTools {
  readonly #config: McpServerConfig
  readonly #options: ServerToolsOptions
  #seen: readonly SeenDefinition[] = []
  list: readonly ToolDef[] = []
  /** What was left out of the list, and why; for people. */
  notes: readonly string[] = []

  constructor(config: McpServerConfig, options: ServerToolsOptions) {
    this.#config = config
    this.#options = options
  }

  async read(client: Client, signal: AbortSignal): Promise<void> {
    const isOffered = client.getServerCapabilities()?.tools !== undefined
    const timeout = this.#config.callTimeout ?? defaultCallTimeout
    const tools = isOffered ? (await client.listTools(undefined, { signal, timeout, cacheMode: 'refresh' })).tools : []
    signal.throwIfAborted()
    const { definitions, notes } = readDefinitions(tools, this.#config)
    const seen = await this.#options.known.compare(definitions)
    signal.throwIfAborted() // a late list must not bring back the tools of a closed connection
    this.notes = notes
    this.#set(seen)
  }

  clear(): void {
    this.#set([])
  }

  readonly #call: CallTool = async (seen, input, ctx) => {
    const { name, digest } = seen.definition
    if (!this.#seen.some(({ definition }) => definition.name === name && definition.digest === digest))
      return {
        output: `The server does not offer ${name} any more as it was when you were told of it, so the call was not made; look at the tools you have now`,
        isError: true,
      }
    // The authority asked a person, who accepted the changed definition with the call.
    if (seen.isChanged) {
      await this.#options.known.accept(seen.definition)
      this.#set(await this.#options.known.compare(this.#seen.map(({ definition }) => definition)))
    }
    return this.#options.call(seen, input, ctx)
  }

  #set(seen: readonly SeenDefinition[]): void {
    const changes = changesOf(this.#seen, seen)
    const hasOtherMarks = seen.some(({ isChanged }, i) => isChanged !== this.#seen[i]?.isChanged)
    if (!hasChanges(changes) && !hasOtherMarks) return
    this.#seen = seen
    this.list = seen.map((one) => toolDefOf(one, this.#config, this.#call))
    this.#options.onChange(changes)
  }
}

export const hasChanges = ({ added, removed, changed }: ToolChanges): boolean =>
  added.length + removed.length + changed.length > 0

function changesOf(before: readonly SeenDefinition[], now: readonly SeenDefinition[]): ToolChanges {
  const digests = new Map(before.map(({ definition }) => [definition.name, definition.digest]))
  const names = new Set(now.map(({ definition }) => definition.name))
  return {
    added: [...names].filter((name) => !digests.has(name)),
    removed: [...digests.keys()].filter((name) => !names.has(name)),
    changed: now.flatMap(({ definition: { name, digest } }) =>
      digests.has(name) && digests.get(name) !== digest ? [name] : [],
    ),
  }
}

/** The server's own hints about harmless tools are ignored. */
function toolDefOf(seen: SeenDefinition, { name: server, disclosure }: McpServerConfig, call: CallTool): ToolDef {
  const { name, tool, description, inputSchema, outputSchema, digest } = seen.definition
  return {
    // Tells the model that the description comes from the server.
    spec: { name, description: `(MCP server ${server}) ${description}`, inputSchema },
    ...(outputSchema && { outputSchema }),
    effects: [`mcp:${server}.${tool}`],
    timeoutMs: 0, // the call has its own limits, which pause while a person is asked
    origin: { layer: 'mcp', path: server, digest, ...(seen.isChanged && { isChanged: true }) },
    mcp: { server, tool, ...(disclosure && { disclosure }) },
    check: checkInput(seen.definition),
    execute: (input, ctx) => call(seen, input, ctx),
  }
}
