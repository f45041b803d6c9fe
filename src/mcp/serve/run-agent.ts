import type { AgentHookMap } from '../../core/run.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { AgentStats } from '../../core/usage.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import type { CallLine } from './held-call.ts'
import { missingPermission } from './missing-permission.ts'
import type { Seat } from './seat.ts'
import { type CallAnswer, refusal } from './to-content.ts'

/** The agent itself, as a tool. */
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

/** Reads the arguments; a text says what is wrong with them. */
export function taskIn(args: Readonly<Record<string, unknown>>): { prompt: string; session?: string } | string {
  const { prompt, session, ...others } = args
  const [unknown] = Object.keys(others)
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'prompt must be a text that says what to do'
  if (session !== undefined && typeof session !== 'string') return 'session must be a text, or left out'
  if (unknown !== undefined) return `there is no argument ${visibleName(unknown)}; use prompt and session`
  return { prompt, ...(session !== undefined && session !== '' && { session }) }
}

/** Has the agent work on a task, and tells how it goes. */
export async function runAgent(
  { prompt, session }: { prompt: string; session: string },
  seat: Seat,
  { signal, progress }: CallLine,
): Promise<CallAnswer> {
  const stats = await seat.agent.run({ ...seat.run, prompt, signal, hooks: tellingOf(progress) })
  const hint = `To go on with this conversation: session "${session}".`
  if (stats.status === 'suspended') {
    const missing = [stats.text, missingPermission(seat, stats.stopReason), hint]
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

/** Tools as they begin, and what is being said, a few times a second at most. */
function tellingOf(progress: (text: string) => void): AgentHookMap {
  let toldAt = 0
  return {
    'stream:text'({ text }) {
      const now = Date.now()
      if (now - toldAt < pauseMs) return
      toldAt = now
      progress(visibleText(text.slice(-mostShown)))
    },
    'tool:before': ({ displayName }) => progress(`uses ${visibleName(displayName)}`),
    'tool:progress': ({ displayName, text }) =>
      progress(`${visibleName(displayName)}: ${visibleText(text.slice(-mostShown))}`),
  }
}

const pauseMs = 250
const mostShown = 500
