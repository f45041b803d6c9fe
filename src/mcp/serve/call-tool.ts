import { messageOf } from '../../core/errors.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { parseArguments } from '../../core/tool-arguments.ts'
import { deepFreeze, type ToolCallBlock, type ToolResultBlock } from '../../core/turn.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { type CallAnswer, missingPermission, refusal, toContent } from './call-answer.ts'
import type { CallChannel } from './pending-call.ts'
import type { ServedAgent } from './served-agents.ts'

/**
 * Calls one tool of the agent, in a run where the client stands in for the model: the client's call is the turn that the
 * run finds open. So gates, authority, hooks, limits and the log work as in any other run.
 */
export async function callTool(
  served: ServedAgent,
  { name, args }: { name: string; args: unknown },
  { signal, progress }: CallChannel,
): Promise<CallAnswer> {
  const { agent, run } = served
  const { log } = agent
  const id = `mcp_${crypto.randomUUID()}`
  const call: ToolCallBlock = { type: 'tool_call', id, name, ...parseArguments(args ?? {}, false) }
  try {
    const { status, stopReason } = await agent.run({
      ...run,
      prompt: `A client calls ${visibleName(name)} over MCP.`,
      signal,
      // A client that reads a file twice wants its content twice; summaries of such calls are of no use.
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
        // The model is never asked, even where the agent has to give structured output.
        'request:prepare': () => agent.abort(),
      },
    })
    if (status === 'suspended') return refusal(missingPermission(served, stopReason))
  } catch (error) {
    if (signal.aborted || !resultOf(served, id))
      return refusal(`${visibleName(name)} was not finished: ${messageOf(error)}`)
  }
  const result = resultOf(served, id)
  if (!result) return refusal(`${visibleName(name)} gave no result; look into the server's log`)
  return { content: toContent(result.output), ...(result.isError && { isError: true }) }
}

function resultOf({ agent }: ServedAgent, id: string): ToolResultBlock | undefined {
  for (const { content } of agent.log.transcript.turns.slice(-2))
    for (const block of content) if (block.type === 'tool_result' && block.callId === id) return block
  return undefined
}

/** All tools that a run would offer to a model: own ones, and those of files, skills and servers. Ends before a model is asked. */
export async function offeredTools({ agent, run }: ServedAgent): Promise<readonly ToolSpec[]> {
  let offered: readonly ToolSpec[] | undefined
  try {
    await agent.run({
      ...run,
      prompt: 'A client lists the tools over MCP.',
      hooks: {
        'turn:before'({ options }) {
          offered = options.tools
          agent.abort()
        },
      },
    })
  } catch (error) {
    if (!offered) throw error
  }
  return offered ?? []
}
