import { CallTimer } from '../core/call-timer.ts'
import { prepareCall } from '../core/prepared-call.ts'
import type { Run } from '../core/run.ts'
import { executeCall } from '../core/tool-call.ts'
import { gateCall } from '../core/tool-gate.ts'
import { toolResultToText } from '../core/tool-output.ts'

/** How a call of the person ended, in words. */
export interface CallEnd {
  readonly output: string
  readonly isError: boolean
}

/**
 * Makes a call for the person, inside a run: the gates judge it as a call of the model, it runs in the same sandbox, and the
 * log has its start and its result. No turn of the model waits for it.
 */
export async function callInRun(run: Run, name: string, input: Record<string, unknown>): Promise<CallEnd> {
  if (!run.tools.get(name)) return { output: `This agent has no tool "${name}"`, isError: true }
  const prepared = prepareCall(run, '', { type: 'tool_call', id: run.newId(), name, input })
  const gate = await gateCall(run, prepared)
  if (!gate) return { output: 'Stopped before it began', isError: true }
  if (gate.halt && !gate.block)
    return { output: 'Not run: it needs an approval, and no person can be asked', isError: true }
  const timer = new CallTimer(run.clock, run.cancellation)
  try {
    const { output, isError } = await executeCall(run, prepared, gate, timer)
    return { output: toolResultToText(output), isError }
  } finally {
    timer.close()
  }
}
