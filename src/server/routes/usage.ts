import type { SessionSummary } from '../../core/store.ts'
import { badRequest } from '../problem.ts'
import { type Call, type JsonSchema, json, type Route } from '../route.ts'
import { isInternalId } from '../session-names.ts'
import { dayOf, type ModelCell, type ToolCell } from '../usage/usage-fold.ts'

const dimensions = ['day', 'model', 'agent', 'kind', 'folder', 'tool'] as const
type Dimension = (typeof dimensions)[number]

const usualDays = 30
const dayMs = 86_400_000

const count = { type: 'number', minimum: 0 } as const
const keys = Object.fromEntries(dimensions.map((name) => [name, { type: 'string' }]))

const sumSchema: JsonSchema = {
  title: 'UsageSum',
  type: 'object',
  required: ['sessions', 'turns', 'calls', 'input', 'output', 'cacheRead', 'cacheWrite', 'tokens', 'cost'],
  properties: {
    sessions: count,
    turns: { ...count, description: 'Replies of models' },
    calls: { ...count, description: 'Tool calls that they asked for' },
    input: { ...count, description: 'Tokens, without those of a cache' },
    output: count,
    cacheRead: count,
    cacheWrite: count,
    tokens: { ...count, description: 'Input and output' },
    cost: { ...count, description: 'In dollars, as far as prices are known' },
  },
}

const toolSumSchema: JsonSchema = {
  title: 'ToolUsageSum',
  type: 'object',
  required: ['sessions', 'calls', 'errors', 'resultTokens', 'ms'],
  properties: {
    sessions: count,
    calls: { ...count, description: 'Calls that have a result' },
    errors: count,
    resultTokens: { ...count, description: 'The estimated size of the results' },
    ms: { ...count, description: 'How long the calls ran' },
  },
}

const exampleSum = {
  ...{ sessions: 1, turns: 4, calls: 1, input: 5000, output: 120, cacheRead: 0, cacheWrite: 0, tokens: 5120 },
  cost: 0.031,
}

/** What sessions used. */
export const usageRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/usage',
    scope: 'read',
    summary:
      'Tokens, dollars and calls of the last days, in all and by one or two of day, model, agent, kind, folder, tool',
    query: {
      by: { type: 'array', items: { type: 'string', enum: dimensions } },
      days: { type: 'integer', minimum: 1, maximum: 366, description: `Default ${usualDays}` },
    },
    answers: {
      200: {
        description: 'Sums from the logs, each entry on its own day in UTC. Calls of tools have no tokens of their own',
        schema: {
          type: 'object',
          required: ['since', 'total', 'rows'],
          properties: {
            since: { type: 'string', description: 'The first day' },
            total: sumSchema,
            rows: {
              type: 'array',
              items: { anyOf: [sumSchema, toolSumSchema], properties: keys },
            },
          },
        },
        example: { since: '2026-10-20', total: exampleSum, rows: [{ day: '2026-11-18', ...exampleSum }] },
      },
    },
    handle: usage,
  },
]

async function usage(call: Call): Promise<Response> {
  const { query, names, server } = call
  const by = (query.by ?? ['day']) as readonly Dimension[]
  const isByTool = by.includes('tool')
  if (by.length > 2 || new Set(by).size < by.length)
    throw badRequest('?by= may be given twice, with two different names')
  if (isByTool && by.some((name) => name === 'model' || name === 'agent'))
    throw badRequest('?by=tool goes with day, kind or folder: a call of a tool has no model')
  const since = dayOf(server.clock.now() - (Number(query.days ?? usualDays) - 1) * dayMs)
  const total = new Sums([])
  const groups = new Sums(by)
  for await (const summary of sessionsSince(call, Date.parse(since))) {
    const { models, tools } = await server.usage.of(summary)
    const own = (cell: ModelCell | ToolCell): boolean => cell.day >= since
    const modelCells = [...models.values()].filter(own)
    total.add(summary, modelCells)
    groups.add(summary, isByTool ? [...tools.values()].filter(own) : modelCells)
    server.closing.throwIfAborted()
  }
  const [sum = { sessions: 0, ...emptyModelSum }] = total.rows(emptyModelSum)
  return json({ since, total: sum, rows: groups.rows(isByTool ? emptyToolSum : emptyModelSum) })

  // Sub-agents are counted too: their calls are in logs of their own.
  async function* sessionsSince({ server: { store } }: Call, from: number): AsyncGenerator<SessionSummary> {
    for (let cursor: string | undefined; ; ) {
      const own = names.tenant === undefined ? {} : { prefix: names.prefix }
      const page = await store.list({ ...own, limit: 1000, ...(cursor !== undefined && { cursor }) })
      for (const summary of page.sessions) {
        if (summary.updatedAt < from) return // the last changed come first
        if (!isInternalId(summary.id) && (await names.owns(store, summary))) yield summary
      }
      cursor = page.next
      if (cursor === undefined) return
    }
  }
}

const emptyModelSum = { turns: 0, calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, tokens: 0, cost: 0 }
const emptyToolSum = { calls: 0, errors: 0, resultTokens: 0, ms: 0 }

type Cell = ModelCell | ToolCell
type Row = Record<string, string | number>

/** Adds cells up by the names of their groups. */
class Sums {
  readonly #by: readonly Dimension[]
  readonly #rows = new Map<string, { readonly keys: readonly string[]; readonly sums: Record<string, number> }>()

  constructor(by: readonly Dimension[]) {
    this.#by = by
  }

  add(summary: SessionSummary, cells: readonly Cell[]): void {
    const counted = new Set<object>()
    for (const cell of cells) {
      const { sums } = this.#rowOf(summary, cell)
      if (!counted.has(sums)) sums.sessions!++
      counted.add(sums)
      for (const name in cell) {
        const value = cell[name as keyof Cell] as string | number
        if (typeof value === 'number') sums[name] = (sums[name] ?? 0) + value
      }
    }
  }

  #rowOf({ kind = '', folder = '' }: SessionSummary, cell: Cell) {
    const keys = this.#by.map((name) => {
      if (name === 'kind') return kind
      return name === 'folder' ? folder : String(cell[name as keyof Cell])
    })
    const id = keys.join('\0')
    const row = this.#rows.get(id) ?? { keys, sums: { sessions: 0 } }
    this.#rows.set(id, row)
    return row
  }

  /** Sorted by their names. */
  rows(empty: Readonly<Record<string, number>>): Row[] {
    const sorted = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.map(([, { keys, sums }]) => {
      const { input, output } = sums
      const tokens = input === undefined || output === undefined ? {} : { tokens: input + output }
      return { ...Object.fromEntries(this.#by.map((name, i) => [name, keys[i]!])), ...empty, ...sums, ...tokens }
    })
  }
}
