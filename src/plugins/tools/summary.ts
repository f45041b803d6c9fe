import type { ToolCheck, ToolDef } from '../../core/tool.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'
import { withMarks } from '../tool-marks.ts'

const description = `Gives the final answer and ends the work. Call it alone, once everything that was asked for is done.
The text is all that the user reads as the answer: make it complete.`

const summaryTool: ToolDef<{ readonly text: string }> = {
  spec: {
    name: 'summary',
    description,
    inputSchema: {
      type: 'object',
      properties: { text: { type: 'string', description: 'The answer.' } },
      required: ['text'],
    },
  },
  isConcurrencySafe: false,
  replay: 'pure',
  effects: [],
  deriveApprovalKey: () => 'summary',
  timeoutMs: 30_000,
  check: refuseEmpty,
  execute: ({ text }) => text,
}

/** Ends the loop with the answer, which is not sent to the model again. */
export const summaryPlugin: PluginDefinition = definePlugin({
  toolId: 'summary',
  displayName: 'Summary',
  description: 'Ends the work with a final answer.',
  tools: () => [withMarks(summaryTool, { duration: 0, leavesTo: 'end' })],
})

function refuseEmpty({ text }: Record<string, unknown>): ToolCheck | undefined {
  if (typeof text !== 'string' || text.trim() !== '') return undefined
  return { valid: false, error: '"text" is empty; write the answer into it' }
}
