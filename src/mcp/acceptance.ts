import type { HookContexts } from '../core/hook-map.ts'
import type { HookScope } from '../core/hooks.ts'
import type { ToolDef } from '../core/tool.ts'

/**
 * A tool whose definition changed runs only after a person looked at the call, which is what an authority makes sure of. Where there
 * is no authority nobody did, and it does not run.
 */
export function createAcceptance(hooks: HookScope<HookContexts>): (tool: ToolDef) => ToolDef {
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
