import { messageOf } from '../../core/errors.ts'
import { readArguments } from '../../core/tool-arguments.ts'
import { deepFreeze, type ToolCallBlock, type ToolResultBlock } from '../../core/turn.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { CallLine } from './held-call.ts'
import { missingPermission } from './missing-permission.ts'
import type { Seat } from './seat.ts'
import { type CallAnswer, refusal, toContent } from './to-content.ts'

/**
 * One call of one of the agent's tools. It is a run in which the client stands in for the model: its call is the turn
 * that the run finds open, so gates, authority, hooks, limits and the log are those of any other run.
 */
export async function callTool(
  seat: Seat,
  { name, args }: { name: string; args: unknown },
  { signal, progress }: CallLine,
): Promise<CallAnswer> {
  const { agent, run } = seat
  const { log } = agent
  const id = `mcp_${crypto.randomUUID()}`
  const call: ToolCallBlock = { type: 'tool_call', id, name, ...readArguments(args ?? {}, false) }
  try {
    const { status, stopReason } = await agent.run({
      ...run,
      prompt: `A client calls ${visibleName(name)} over MCP.`,
      signal,
      // A client that reads a file again wants to have it again, and nobody pays for a summary of such calls.
      behavior: { dedupReads: false, compactStrategy: 'off' },
      hooks: {
        async 'session:start'({ runId }) {
          const turn = { id: `${id}.turn`, runId, role: 'assistant', content: [call], createdAt: Date.now() } as const
          await log.append({ type: 'turn', turn: deepFreeze(turn), stop: 'tool_use' })
        },
        'tool:progress': ({ text }) => progress(text),
        'turn:next'(next) {
          next.stop = true
        },
        // Nobody but the client speaks in this run, even where its agent would have to answer in some shape.
        'request:prepare': () => agent.abort(),
      },
    })
    if (status === 'suspended') return refusal(missingPermission(seat, stopReason))
  } catch (error) {
    if (signal.aborted || !resultOf(seat, id))
      return refusal(`${visibleName(name)} was not finished: ${messageOf(error)}`)
  }
  const result = resultOf(seat, id)
  if (!result) return refusal(`${visibleName(name)} gave no result; look into the server's log`)
  return { content: toContent(result.output), ...(result.isError && { isError: true }) }
}

function resultOf({ agent }: Seat, id: string): ToolResultBlock | undefined {
  for (const { content } of agent.log.transcript.turns.slice(-2))
    for (const block of content) if (block.type === 'tool_result' && block.callId === id) return block
  return undefined
}
