import type { Effect } from '../core/authority.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { effectsOf, prepareCall } from '../core/tool-gate.ts'

/** A call of the same turn that has not been asked about. */
interface OpenSibling {
  readonly tool: ToolDef
  readonly callId: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly effects: readonly Effect[]
}

/** The calls that come after one in its turn and could run: with known tools, with arguments that pass. */
export function openSiblings(run: Run, { callId, turnId }: HookContexts['tool:gate']): OpenSibling[] {
  const { openCalls, approvals } = run.log.transcript
  const at = openCalls.findIndex(({ id }) => id === callId)
  if (at < 0) return []
  return openCalls.slice(at + 1).flatMap((call) => {
    const { tool, checked, callInfo: about } = prepareCall(run, turnId, call)
    if (!tool || !checked.valid || approvals.has(call.id)) return []
    const { name, input } = about
    return [{ tool, callId: call.id, name, input, effects: effectsOf(tool, input) }]
  })
}
