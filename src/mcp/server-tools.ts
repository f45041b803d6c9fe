import type { Client } from '@modelcontextprotocol/client'
import type { ToolContext, ToolDef, ToolResult } from '../core/tool.ts'
import { defaultCallTimeout, type McpServerConfig } from './config.ts'
import { type McpDefinition, readDefinitions } from './definitions/read-definitions.ts'
import { checkInput } from './definitions/schema-check.ts'
import type { KnownTools } from './memory.ts'

/** What a set of tools has that the one before had not, by names. */
export interface ToolChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
}

export interface ServerToolsOptions {
  readonly known: KnownTools
  readonly call: CallTool
  /** They are another set. */
  onChange(changes: ToolChanges): void
}

/** The tools of one server, as it told them last. They stay while a connection is lost: the model's list must not flicker. */
export class ServerTools {
  readonly #config: McpServerConfig
  readonly #options: ServerToolsOptions
  #seen: readonly SeenDefinition[] = []
  list: readonly ToolDef[] = []
  /** What was left out, and why; for people. */
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
    signal.throwIfAborted() // what comes too late must not bring back what was let go of
    this.notes = notes
    this.#set(seen)
  }

  clear(): void {
    this.#set([])
  }

  readonly #call: CallTool = async (seen, input, ctx) => {
    if (!this.#seen.some(({ definition }) => isSame(definition, seen.definition))) return gone(seen)
    // Who lets a changed tool be called has accepted what it says now.
    if (seen.isChanged) {
      await this.#options.known.accept(seen.definition)
      this.#set(await this.#options.known.compare(this.#seen.map(({ definition }) => definition)))
    }
    return this.#options.call(seen, input, ctx)
  }

  #set(seen: readonly SeenDefinition[]): void {
    const changes = changesOf(this.#seen, seen)
    const isOtherwise = seen.some(({ isChanged }, i) => isChanged !== this.#seen[i]?.isChanged)
    if (changes === undefined && !isOtherwise) return
    this.#seen = seen
    this.list = seen.map((one) => mcpTool(one, this.#config, this.#call))
    this.#options.onChange(changes ?? { added: [], removed: [], changed: [] })
  }
}

const isSame = (a: McpDefinition, b: McpDefinition): boolean => a.name === b.name && a.digest === b.digest

/** `undefined` where there are none. */
function changesOf(before: readonly SeenDefinition[], now: readonly SeenDefinition[]): ToolChanges | undefined {
  const digests = new Map(before.map(({ definition }) => [definition.name, definition.digest]))
  const names = new Set(now.map(({ definition }) => definition.name))
  const added = [...names].filter((name) => !digests.has(name))
  const removed = [...digests.keys()].filter((name) => !names.has(name))
  const changed = now.flatMap(({ definition: { name, digest } }) =>
    digests.has(name) && digests.get(name) !== digest ? [name] : [],
  )
  return added.length + removed.length + changed.length === 0 ? undefined : { added, removed, changed }
}

function gone({ definition: { name } }: SeenDefinition): { output: string; isError: true } {
  const output = `The server does not offer ${name} any more as it was when you were told of it, so the call was not made; look at the tools you have now`
  return { output, isError: true }
}

/** A definition, and whether it is the one that was seen first or accepted since. */
export interface SeenDefinition {
  readonly definition: McpDefinition
  readonly isChanged: boolean
}

export type CallTool = (seen: SeenDefinition, input: Record<string, unknown>, ctx: ToolContext) => Promise<ToolResult>

/** A tool of a server as agents know it. What the server says of its own harmlessness is not part of it. */
export function mcpTool(seen: SeenDefinition, { name: server, disclosure }: McpServerConfig, call: CallTool): ToolDef {
  const { name, tool, description, inputSchema, outputSchema, digest } = seen.definition
  const check = checkInput(seen.definition)
  return {
    // Its words are not ours, and the model is told whose they are.
    spec: { name, description: `(MCP server ${server}) ${description}`, inputSchema },
    ...(outputSchema && { outputSchema }),
    effects: [`mcp:${server}.${tool}`],
    timeoutMs: 0, // the call has limits of its own, which do not run while a person is asked something
    origin: { layer: 'mcp', path: server, digest, ...(seen.isChanged && { isChanged: true }) },
    mcp: { server, tool, ...(disclosure && { disclosure }) },
    check,
    execute: (input, ctx) => call(seen, input, ctx),
  }
}
