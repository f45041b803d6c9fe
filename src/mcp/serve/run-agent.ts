import type { AgentHookMap } from '../../core/run.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { AgentStats } from '../../core/usage.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import { type CallAnswer, missingPermission, refusal } from './call-answer.ts'
import type { CallChannel } from './pending-call.ts'
import type { ServedAgent } from './served-agents.ts'

/** The agent as a tool. */
export const runAgentTool = {
  name: 'run_agent',
  description:
    'Gives a task to an agent that works on it with tools of its own, and waits for its answer. To go on with a conversation pass the session that the last answer named.',
  inputSchema: {
    type: 'object',
    properties: {
      prompt: { type: 'string', description: 'The task, with everything that the agent has to know' },
      session: { type: 'string', description: 'The conversation to go on with; leave it out to begin one' },
    },
    required: ['prompt'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      session: { type: 'string' },
      output: { description: 'The answer in the shape that the agent was told to answer in' },
    },
    required: ['text', 'session'],
  },
} as const satisfies ToolSpec & { outputSchema: object }

/** Reads the arguments; returns a text if they are wrong. */
export function readTask(args: Readonly<Record<string, unknown>>): { prompt: string; session?: string } | string {
  const { prompt, session, ...others } = args
  const [unknown] = Object.keys(others)
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'prompt must be a text that says what to do'
  if (session !== undefined && typeof session !== 'string') return 'session must be a text, or left out'
  if (unknown !== undefined) return `there is no argument ${visibleName(unknown)}; use prompt and session`
  return { prompt, ...(session !== undefined && session !== '' && { session }) }
}

/** Runs the agent with a prompt, and reports its progress. */
export async function runAgent(
  { prompt, session }: { prompt: string; session: string },
  served: ServedAgent,
  { signal, progress }: CallChannel,
): Promise<CallAnswer> {
  const stats = await served.agent.run({ ...served.run, prompt, signal, hooks: progressHooks(progress) })
  const hint = `To go on with this conversation: session "${session}".`
  if (stats.status === 'suspended') {
    const missing = [stats.text, missingPermission(served, stats.stopReason), hint]
    return refusal(missing.filter((text) => text !== '').join('\n\n'))
  }
  const { text, output } = stats
  return {
    content: [
      { type: 'text', text: [text, ...cutShort(stats)].join('\n\n') },
      { type: 'text', text: hint },
    ],
    structuredContent: { text, session, ...(output !== undefined && { output }) },
  }
}

function cutShort({ stopReason }: AgentStats): string[] {
  if (stopReason === 'budget') return ['(It stopped here: its budget is used up.)']
  return stopReason === 'max_turns' ? ['(It stopped here: it may not take more turns.)'] : []
}

/** Reports each tool that starts, and the streamed text a few times a second. */
function progressHooks(progress: (text: string) => void): AgentHookMap {
  let reportedAt = 0
  return {
    'stream:text'({ text }) {
      const now = Date.now()
      if (now - reportedAt < pauseMs) return
      reportedAt = now
      progress(visibleText(text.slice(-mostShown)))
    },
    'tool:before': ({ displayName }) => progress(`uses ${visibleName(displayName)}`),
    'tool:progress': ({ displayName, text }) =>
      progress(`${visibleName(displayName)}: ${visibleText(text.slice(-mostShown))}`),
  }
}

const pauseMs = 250
const mostShown = 500
