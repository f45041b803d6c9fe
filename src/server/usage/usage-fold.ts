import { estimateTokens } from '../../core/estimate-tokens.ts'
import type { EntryBody, EntryOf, LogEntry } from '../../core/log.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import { type TurnUsage, toolCallsOf } from '../../core/turn.ts'

/** What model calls of one day used, by model and agent. */
export interface ModelCell {
  readonly day: string
  readonly model: string
  /** The name of the agent whose run it was; empty if the run has none. */
  readonly agent: string
  turns: number
  calls: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  cost: number
}

/** What the calls of one tool on one day came to. */
export interface ToolCell {
  readonly day: string
  readonly tool: string
  calls: number
  errors: number
  /** The estimated size of their results. */
  resultTokens: number
  /** How long they ran, together. */
  ms: number
}

/** The usage of one session, from its entries in their order. */
export class UsageFold {
  /** The number of the last entry. */
  head = 0
  readonly models = new Map<string, ModelCell>()
  readonly tools = new Map<string, ToolCell>()
  #agent = ''
  #model = ''
  /** The calls of the last reply: the name of each, and when it started. */
  readonly #open = new Map<string, { readonly tool: string; startedAt?: number }>()

  get size(): number {
    return this.models.size + this.tools.size + 1
  }

  add(entry: LogEntry): void {
    this.head = entry.seq
    const add = this.#kinds[entry.type] as ((entry: LogEntry) => void) | undefined
    try {
      add?.(entry)
    } catch {
      // An imported entry may lack fields: it counts for nothing.
    }
  }

  readonly #kinds: { readonly [Type in EntryBody['type']]?: (entry: EntryOf<Type>) => void } = {
    run_started: ({ agent, model }) => {
      this.#agent = String(agent ?? '')
      this.#model = String(model)
    },
    turn: ({ at, turn }) => {
      if (turn.role !== 'assistant') return
      const calls = toolCallsOf(turn)
      const cell = this.#modelCell(at, turn.usage?.model ?? turn.model)
      cell.turns++
      cell.calls += calls.length
      addUsage(cell, turn.usage)
      this.#open.clear() // calls of earlier replies have their results
      for (const { id, name } of calls) this.#open.set(id, { tool: name })
    },
    usage: ({ at, usage }) => addUsage(this.#modelCell(at, usage.model), usage),
    call_started: ({ at, callId }) => {
      const call = this.#open.get(callId)
      if (call) call.startedAt = at
    },
    call_result: ({ at, callId, output, isError }) => {
      const call = this.#open.get(callId)
      if (!call) return
      this.#open.delete(callId)
      const cell = this.#toolCell(at, call.tool)
      cell.calls++
      if (isError) cell.errors++
      cell.resultTokens += estimateTokens(toolResultToText(output))
      if (call.startedAt !== undefined) cell.ms += Math.max(0, at - call.startedAt)
    },
    state: ({ owner }) => {
      if (owner !== 'fork') return
      // All entries before this one are those of the original session, which counts them.
      this.models.clear()
      this.tools.clear()
    },
  }

  #modelCell(at: number, model = this.#model): ModelCell {
    const [day, agent] = [dayOf(at), this.#agent]
    const key = JSON.stringify([day, model, agent])
    const cell = this.models.get(key) ?? { day, model, agent, ...noUsage }
    this.models.set(key, cell)
    return cell
  }

  #toolCell(at: number, tool: string): ToolCell {
    const day = dayOf(at)
    const key = JSON.stringify([day, tool])
    const cell = this.tools.get(key) ?? { day, tool, calls: 0, errors: 0, resultTokens: 0, ms: 0 }
    this.tools.set(key, cell)
    return cell
  }
}

const noUsage = { turns: 0, calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 }

function addUsage(cell: ModelCell, usage: TurnUsage | undefined): void {
  if (!usage) return
  cell.input += count(usage.input)
  cell.output += count(usage.output)
  cell.cacheRead += count(usage.cacheRead)
  cell.cacheWrite += count(usage.cacheCreation)
  cell.cost += count(usage.cost)
}

/** An import may have anything in place of a number. */
const count = (value: unknown): number => (typeof value === 'number' && value > 0 && value < 1e15 ? value : 0)

const lastDay = Date.UTC(9999, 11, 31)

/** The day of a time in UTC. An import may have any time. */
export const dayOf = (at: number): string =>
  new Date(at > 0 ? Math.min(at, lastDay) : 0).toISOString().slice(0, 'yyyy-mm-dd'.length)
