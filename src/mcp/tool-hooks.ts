import { printable } from '../core/errors.ts'
import type { HookContexts, McpToolHookContext } from '../core/hook-map.ts'
import { shownName } from '../core/provider.ts'
import type { Run } from '../core/run.ts'
import { defaultTimeoutMs, type ToolDef } from '../core/tool.ts'
import type { CallContext } from '../core/tool-context.ts'
import { readToolResult, toolOutputByteLength } from '../core/tool-output.ts'
import { copyJson, deepFreeze } from '../core/turn.ts'

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
