import { createRedactor } from '../platform/redact.ts'
import type { McpToolResult } from './results/to-tool-result.ts'

/** A server that fails may repeat what it was given to sign in with; neither models nor screens get to see that. */
export function redactFailure(result: McpToolResult, secrets: readonly string[]): McpToolResult {
  if (!result.isError) return result
  const redactor = createRedactor({ secrets })
  const { output, details } = result
  const shown =
    typeof output === 'string'
      ? redactor.text(output)
      : output.map((part) => (part.type === 'text' ? { ...part, text: redactor.text(part.text) } : part))
  return { ...result, output: shown, ...(details !== undefined && { details: redactor.json(details) }) }
}
