import { messageOf } from '../../core/errors.ts'
import type { ToolSpec } from '../../core/tool.ts'
import { callTool } from './call-tool.ts'
import { Conversations } from './conversations.ts'
import type { McpFaceOptions } from './face-options.ts'
import { HeldCall } from './held-call.ts'
import { IdleSeats } from './idle-seats.ts'
import { offeredTools } from './offered-tools.ts'
import { runAgent, runAgentTool, taskIn } from './run-agent.ts'
import { type CallAnswer, refusal } from './to-content.ts'

/** A tool as clients are told of it. */
export type ListedTool = ToolSpec & { readonly outputSchema?: Readonly<Record<string, unknown>> }

/** What a face does, whatever it is spoken to over. */
export class FaceWork {
  readonly #seats: IdleSeats
  readonly #conversations: Conversations
  readonly #exposes: { readonly agent: boolean; readonly tools: boolean }
  readonly #under = new Set<HeldCall>()
  #listed: { readonly at: number; readonly tools: Promise<readonly ToolSpec[]> } | undefined

  constructor({ agent: make, expose = {}, sessions = {} }: Pick<McpFaceOptions, 'agent' | 'expose' | 'sessions'>) {
    const { most = 50, knows } = sessions
    this.#seats = new IdleSeats(make)
    this.#conversations = new Conversations({ make, most, ...(knows && { knows }) })
    this.#exposes = { agent: expose.agent ?? true, tools: expose.tools ?? true }
  }

  /** The agent, and what it would offer a model. */
  async tools(canAsk: boolean): Promise<readonly ListedTool[]> {
    const { agent, tools } = this.#exposes
    const own = agent ? [runAgentTool] : []
    if (!tools) return own
    if (!this.#listed || Date.now() - this.#listed.at > listedMs) {
      const listing = this.#seats.use(canAsk, offeredTools)
      this.#listed = { at: Date.now(), tools: listing }
      listing.catch(() => (this.#listed = undefined))
    }
    const offered = await this.#listed.tools
    return [...own, ...(agent ? offered.filter(({ name }) => name !== runAgentTool.name) : offered)]
  }

  /** Begins a call; `undefined` where there is no such tool. */
  async begin({ name, args, canAsk }: Asked): Promise<HeldCall | undefined> {
    if (!(await this.#has(name, canAsk))) return undefined
    const call = new HeldCall(aboutOf(name, args), async (line) => {
      await null // so that it is counted
      try {
        if (this.#under.size > mostCalls)
          return refusal(`${mostCalls} calls are under way, all that this server does at once; try again later`)
        if (this.#exposes.agent && name === runAgentTool.name) return await this.#runAgent(args, canAsk, line)
        return await this.#seats.use(canAsk, (seat) => {
          seat.ask = canAsk ? line.ask : undefined
          return callTool(seat, { name, args }, line)
        })
      } catch (error) {
        return refusal(`${name} failed: ${messageOf(error)}`)
      } finally {
        this.#under.delete(call)
      }
    })
    this.#under.add(call)
    return call
  }

  async close(): Promise<void> {
    for (const call of this.#under) call.abort(new Error('the server is closing'))
    await Promise.allSettled([this.#seats.close(), this.#conversations.close()])
    await Promise.all([...this.#under].map((call) => call.ended()))
  }

  /** A name that is not known may have come since the list was made. */
  async #has(name: string, canAsk: boolean): Promise<boolean> {
    const isThere = async (): Promise<boolean> => (await this.tools(canAsk)).some((tool) => tool.name === name)
    if (this.#exposes.agent && name === runAgentTool.name) return true
    if (await isThere()) return true
    this.#listed = undefined
    return isThere()
  }

  async #runAgent(args: Asked['args'], canAsk: boolean, line: Parameters<typeof runAgent>[2]): Promise<CallAnswer> {
    const task = taskIn(args)
    if (typeof task === 'string') return refusal(`Validation error: ${task}`)
    return this.#conversations.use({ id: task.session, canAsk }, (seat, session) => {
      seat.ask = canAsk ? line.ask : undefined // another client than the one that began it may go on
      return runAgent({ prompt: task.prompt, session }, seat, line)
    })
  }
}

interface Asked {
  readonly name: string
  readonly args: Readonly<Record<string, unknown>>
  readonly canAsk: boolean
}

/** What a call is about, to know it again. */
export const aboutOf = (name: string, args: unknown): string => JSON.stringify([name, args])

const listedMs = 5000
const mostCalls = 32
