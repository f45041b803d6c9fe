import type { ToolSpec } from '../../core/tool.ts'
import type { Seat } from './seat.ts'

/** What a run would offer a model, whoever brings it: own tools, those of files, skills and servers. None is asked. */
export async function offeredTools({ agent, run }: Seat): Promise<readonly ToolSpec[]> {
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
