import type { AgentHookMap, McpToolHookContext } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { readToolResult, toolOutputByteLength } from '../core/tool-output.ts'

/** The four `mcp:tool:*` moments around a remote call; to the pipeline outside they are part of EXECUTE. */
export function withMcpHooks(tool: ToolDef, at: { server: string; tool: string }, run: Run): ToolDef {
  const { hooks } = run
  return {
    ...tool,
    mcp: at,
    async execute(input, ctx) {
      const { name } = tool.spec
      const displayName = run.provider.displayName?.(name) ?? name
      const about: McpToolHookContext = {
        turnId: ctx.turnId,
        callId: ctx.callId,
        name,
        displayName,
        input,
        server: at.server,
        tool: at.tool,
      }
      const gate: AgentHookMap['mcp:tool:gate'] = { ...about, block: false, reason: '' }
      await hooks.ask('mcp:tool:gate', gate)
      if (gate.block) return { output: `Blocked: ${gate.reason || 'this call is not allowed'}`, isError: true }
      if (gate.result === undefined) await hooks.tell('mcp:tool:before', about)
      const done = readToolResult(gate.result ?? (await tool.execute(input, ctx)))
      const shown = {
        ...about,
        result: done.output,
        isError: done.isError,
        outputBytes: toolOutputByteLength(done.output),
      }
      await hooks.ask('mcp:tool:transform', shown)
      const { result, isError } = shown
      await hooks.tell('mcp:tool:after', { ...about, result, isError, outputBytes: toolOutputByteLength(result) })
      return { ...done, output: result, isError }
    },
  }
}
