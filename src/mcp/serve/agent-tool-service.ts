import { messageOf } from '../../core/errors.ts'
import type { AgentHookMap } from '../../core/run.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { parseArguments } from '../../core/tool-arguments.ts'
import { deepFreeze, type ToolCallBlock, type ToolResultBlock } from '../../core/turn.ts'
import type { AgentStats } from '../../core/usage.ts'
import { visibleName, visibleText } from '../../platform/visible-text.ts'
import { type CallAnswer, missingPermission, refusal, toContent } from './call-answer.ts'
import { type CallChannel, PendingCall } from './pending-call.ts'
import { Conversations, IdleAgents, type McpAgentServerOptions, type ServedAgent } from './served-agents.ts'

/** A tool as clients see it in the list. */
export type ListedTool = ToolSpec & { readonly outputSchema?: Readonly<Record<string, unknown>> }

interface CallRequest {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  /** Whether the client can ask its user. */
  readonly canAsk: boolean
}

/** Lists and calls the tools of an agent server, whatever the transport. */
export class AgentToolService {
  readonly #agents: IdleAgents
  readonly #conversations: Conversations
  readonly #exposes: { readonly agent: boolean; readonly tools: boolean }
  readonly #running = new Set<PendingCall>()
  #listed: { readonly at: number; readonly tools: Promise<readonly ToolSpec[]> } | undefined

  constructor({
    agent: make,
    expose = {},
    sessions = {},
  }: Pick<McpAgentServerOptions, 'agent' | 'expose' | 'sessions'>) {
    const { most = 50, knows } = sessions
    this.#agents = new IdleAgents(make)
    this.#conversations = new Conversations({ make, most, ...(knows && { knows }) })
    this.#exposes = { agent: expose.agent ?? true, tools: expose.tools ?? true }
  }

  /** `run_agent`, and the tools that a run would offer to a model. */
  async tools(canAsk: boolean): Promise<readonly ListedTool[]> {
    const { agent, tools } = this.#exposes
    const own = agent ? [runAgentTool] : []
    if (!tools) return own
    if (!this.#listed || Date.now() - this.#listed.at > listedMs) {
      const listing = this.#agents.use(canAsk, offeredTools)
      this.#listed = { at: Date.now(), tools: listing }
      listing.catch(() => (this.#listed = undefined))
    }
    const offered = await this.#listed.tools
    return [...own, ...(agent ? offered.filter(({ name }) => name !== runAgentTool.name) : offered)]
  }

  /** Starts a call; `undefined` if there is no such tool. */
  async begin({ name, args, canAsk }: CallRequest): Promise<PendingCall | undefined> {
    if (!(await this.#has(name, canAsk))) return undefined
    const call = new PendingCall(name, args, async (channel) => {
      await null // until the call is in `#running`
      try {
        if (this.#running.size > mostCalls)
          return refusal(`${mostCalls} calls are under way, all that this server does at once; try again later`)
        if (this.#exposes.agent && name === runAgentTool.name) return await this.#runAgent(args, canAsk, channel)
        return await this.#agents.use(canAsk, (served) => {
          served.ask = canAsk ? channel.ask : undefined
          return callTool(served, { name, args }, channel)
        })
      } catch (error) {
        return refusal(`${name} failed: ${messageOf(error)}`)
      } finally {
        this.#running.delete(call)
      }
    })
    this.#running.add(call)
    return call
  }

  async close(): Promise<void> {
    for (const call of this.#running) call.abort(new Error('the server is closing'))
    await Promise.allSettled([this.#agents.close(), this.#conversations.close()])
    await Promise.all([...this.#running].map((call) => call.ended()))
  }

  async #has(name: string, canAsk: boolean): Promise<boolean> {
    const isListed = async (): Promise<boolean> => (await this.tools(canAsk)).some((tool) => tool.name === name)
    if (this.#exposes.agent && name === runAgentTool.name) return true
    if (await isListed()) return true
    this.#listed = undefined // the tool may have been added since
    return isListed()
  }

  async #runAgent(args: CallRequest['args'], canAsk: boolean, channel: CallChannel): Promise<CallAnswer> {
    const task = readTask(args)
    if (typeof task === 'string') return refusal(`Validation error: ${task}`)
    return this.#conversations.use({ id: task.session, canAsk }, (served, session) => {
      served.ask = canAsk ? channel.ask : undefined // not always the client that began the conversation
      return runAgent({ prompt: task.prompt, session }, served, channel)
    })
  }
}

const listedMs = 5000
const mostCalls = 32

/**
 * Calls one tool of the agent, in a run where the client stands in for the model: the client's call is the turn that the
 * run finds open. So gates, authority, hooks, limits and the log work as in any other run.
 */
async function callTool(
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
async function offeredTools({ agent, run }: ServedAgent): Promise<readonly ToolSpec[]> {
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

/** The agent as a tool. */
const runAgentTool = {
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
function readTask(args: Readonly<Record<string, unknown>>): { prompt: string; session?: string } | string {
  const { prompt, session, ...others } = args
  const [unknown] = Object.keys(others)
  if (typeof prompt !== 'string' || prompt.trim() === '') return 'prompt must be a text that says what to do'
  if (session !== undefined && typeof session !== 'string') return 'session must be a text, or left out'
  if (unknown !== undefined) return `there is no argument ${visibleName(unknown)}; use prompt and session`
  return { prompt, ...(session !== undefined && session !== '' && { session }) }
}

/** Runs the agent with a prompt, and reports its progress. */
async function runAgent(
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
