import { isRecord } from '../core/is-record.ts'
import type { ToolDef, ToolResult } from '../core/tool.ts'

/** What a tool of a plugin says about its result, beside what it tells the model. It stands in the result's `details`. */
export interface ToolMarks {
  /** How many model calls the result is sent with; `null` means all. Default: what the plugin's configuration says, else 1. */
  readonly duration?: number | null
  /** The loop ends with this result: the agent is done, or a person has to say something. */
  readonly leavesTo?: 'end' | 'human'
}

/** Results that say nothing of themselves are sent with one model call; what went wrong with two. */
export const defaultResultDuration = 1
export const errorResultDuration = 2

/** The same tool; every result it gives carries these marks, unless it gives others itself. */
export function withMarks<Input>(tool: ToolDef<Input>, marks: ToolMarks): ToolDef<Input> {
  return {
    ...tool,
    async execute(input, ctx) {
      const result = await tool.execute(input, ctx)
      const { output, details, isError } = parts(result)
      return { output, details: { ...marks, ...named(details) }, ...(isError && { isError }) } as ToolResult
    },
  }
}

/** The marks in the details of a result; a log may hold anything. */
export function marksOf(details: unknown): ToolMarks {
  if (!isRecord(details)) return {}
  const { duration, leavesTo } = details
  const isDuration = duration === null || (Number.isInteger(duration) && (duration as number) >= 0)
  return {
    ...(isDuration && { duration: duration as number | null }),
    ...((leavesTo === 'end' || leavesTo === 'human') && { leavesTo }),
  }
}

function parts(result: ToolResult): { output: unknown; details?: unknown; isError?: boolean } {
  if (isRecord(result) && 'output' in result) return result as { output: unknown; details?: unknown; isError?: boolean }
  if (typeof result === 'string' || Array.isArray(result)) return { output: result }
  return { output: result === undefined ? '' : (JSON.stringify(result) ?? String(result)) }
}

function named(details: unknown): Record<string, unknown> {
  if (isRecord(details)) return details
  return details === undefined ? {} : { value: details }
}
