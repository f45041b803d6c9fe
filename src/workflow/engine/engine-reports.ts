import { messageOf } from '../../core/errors.ts'
import type { AgentHookMap } from '../../core/run.ts'

/** What goes wrong around the runs of an agent without ending them, for whoever looks after the workflow. */
export function engineReports(agent: string, onError: (error: Error) => void): AgentHookMap {
  return {
    'hook:error': ({ hook, error }) => onError(new Error(`a handler of "${hook}" failed`, { cause: error })),
    'mcp:error': ({ name, error }) => {
      if (messageOf(error) === closingWords) return
      onError(new Error(`${agent}: its MCP server "${name}" failed: ${messageOf(error)}`, { cause: error }))
    },
  }
}

/** What servers that are still being connected to end with when their agent does. */
const closingWords = 'the agent is going away'
