import type { Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { CallContext } from '../core/tool-context.ts'
import type { SchemaCheck } from '../platform/schema-check.ts'
import type { LiveTool } from './live-tool.ts'

/** A tool in a file, as a run sees it. */
export function boundTool(live: LiveTool, inputCheck: SchemaCheck, run: Run): ToolDef {
  const { contract, origin } = live.hosted
  const { name, description, inputSchema, outputSchema, gated, deriveApprovalKey } = contract
  const { effects, isConcurrencySafe, replay } = contract
  return {
    // There is no other place where a model would hear of it.
    spec: {
      name,
      description: outputSchema
        ? `${description}\n\nIts output, by JSON Schema: ${JSON.stringify(outputSchema)}`
        : description,
      inputSchema,
    },
    origin,
    gated,
    deriveApprovalKey,
    timeoutMs: 0, // each call has its own limit, see LiveTool
    ...(outputSchema && { outputSchema }),
    ...(effects && { effects }),
    ...(isConcurrencySafe !== undefined && { isConcurrencySafe }),
    ...(replay && { replay }),
    check(input) {
      const problem = inputCheck(input)
      return problem === undefined ? undefined : { valid: false, error: `ToolTerminal/InputInvalid: ${problem}` }
    },
    execute: (input, context) => live.call(input, context as CallContext, run),
  }
}
