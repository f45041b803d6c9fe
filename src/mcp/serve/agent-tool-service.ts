import { messageOf } from '../../core/errors.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { type CallAnswer, refusal } from './call-answer.ts'
import { callTool, offeredTools } from './call-tool.ts'
import { type CallChannel, PendingCall } from './pending-call.ts'
import { readTask, runAgent, runAgentTool } from './run-agent.ts'
import { Conversations, IdleAgents, type McpAgentServerOptions } from './served-agents.ts'

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
