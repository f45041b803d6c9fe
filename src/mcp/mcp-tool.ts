import type { ToolContext, ToolDef, ToolResult } from '../core/tool.ts'
import type { McpServerConfig } from './config.ts'
import { checkInput } from './definitions/check-input.ts'
import type { McpDefinition } from './definitions/read-definitions.ts'

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
