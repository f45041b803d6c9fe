import { isRecord } from '../core/is-record.ts'
import type { ToolDef, ToolResult } from '../core/tool.ts'

/** What a tool of a plugin says about its result, in the result's `details`. */
export type ToolMarks = Parameters<typeof withMarks>[1]

/** A result without marks is sent with one model call, an error with two. */
export const defaultResultDuration = 1
export const errorResultDuration = 2

/** The same tool; its results have these marks, unless they have others. */
export function withMarks<Input>(
  tool: ToolDef<Input>,
  marks: {
    /** With how many model calls the result is sent; `null` means all. Default: by the plugin's entry, else 1. */
    readonly duration?: number | null
    /** The loop ends with this result: the agent is done, or waits for a person. */
    readonly leavesTo?: 'end' | 'human'
  },
): ToolDef<Input> {
  return {
    ...tool,
    async execute(input, ctx) {
      const result = await tool.execute(input, ctx)
      const { output, details, isError } = parts(result)
      return { output, details: { ...marks, ...named(details) }, ...(isError && { isError }) } as ToolResult
    },
  }
}

/** The valid marks in the details of a result. */
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
