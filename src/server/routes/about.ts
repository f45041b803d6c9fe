import type { SessionSummary } from '../../core/store.ts'
import { notOffered } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { isInternalId } from '../session-names.ts'

const anything = { description: 'As the host tells it' }

const summaries = {
  models: 'The models that can be chosen',
  tools: 'The tools that agents have',
  mcp: 'MCP servers and their states',
  skills: 'Skills',
} as const

/** Facts about the host: models, tools, servers, skills, settings, rules, the audit, and what sessions cost. */
export const aboutRoutes: readonly Route[] = [
  ...(['models', 'tools', 'mcp', 'skills'] as const).map(
    (name): Route => ({
      method: 'GET',
      path: `/v1/${name}`,
      scope: 'read',
      summary: summaries[name],
      answers: { 200: { description: 'A list', schema: anything } },
      handle: async ({ caller, server: { options } }) => {
        const tell = options.about?.[name]
        if (!tell) throw notOffered(name)
        return json({ [name]: await tell(caller) })
      },
    }),
  ),
  {
    method: 'GET',
    path: '/v1/settings',
    scope: 'read',
    summary: 'The settings, without secrets',
    answers: { 200: { description: 'The settings', schema: anything } },
    async handle({ caller, server: { options } }) {
      if (!options.about?.settings) throw notOffered('settings')
      return json(await options.about.settings(caller))
    },
  },
  {
    method: 'PATCH',
    path: '/v1/settings',
    scope: 'admin',
    summary: 'Changes settings; they count from the next run on',
    body: { type: 'object', minProperties: 1 },
    answers: { 200: { description: 'The settings', schema: anything } },
    async handle({ body, caller, server: { options } }) {
      if (!options.about?.changeSettings) throw notOffered('settings to change')
      return json(await options.about.changeSettings(body, caller))
    },
  },
  {
    method: 'POST',
    path: '/v1/policy/explain',
    scope: 'read',
    summary: 'What the rules say about a call, and why. Nothing runs',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['tool', 'input'],
      properties: { tool: { type: 'string', minLength: 1, maxLength: 200 }, input: { type: 'object' } },
    },
    answers: { 200: { description: 'The decision', schema: anything } },
    async handle({ body, caller, server: { options } }) {
      if (!options.about?.explain) throw notOffered('rules')
      return json(await options.about.explain(body as Parameters<NonNullable<typeof options.about.explain>>[0], caller))
    },
  },
  {
    method: 'GET',
    path: '/v1/audit',
    scope: 'admin',
    summary: 'The latest decisions about calls, newest first',
    query: { limit: { type: 'integer', minimum: 1, maximum: 1000 }, session: { type: 'string' } },
    answers: { 200: { description: 'Records of the audit', schema: anything } },
    async handle({ query, caller, names, server: { options } }) {
      if (!options.about?.audit) throw notOffered('audit')
      const session = query.session === undefined ? {} : { session: names.stored(String(query.session)) }
      return json({ records: await options.about.audit({ limit: Number(query.limit ?? 100), ...session }, caller) })
    },
  },
  {
    method: 'GET',
    path: '/v1/usage',
    scope: 'read',
    summary: 'Tokens and dollars, in all and by day, kind or folder, from the summaries of sessions',
    query: { by: { type: 'string', enum: ['day', 'kind', 'folder'] } },
    answers: {
      200: {
        description: 'Sums; a session counts for the day on which it was last written',
        schema: { type: 'object', required: ['total', 'groups'] },
        example: {
          total: { sessions: 1, turns: 4, calls: 1, tokens: 5120, cost: 0.031 },
          groups: { '2026-11-18': { sessions: 1, turns: 4, calls: 1, tokens: 5120, cost: 0.031 } },
        },
      },
    },
    handle: usage,
  },
]

async function usage({ query, names, server: { store } }: Call): Promise<Response> {
  const by = (query.by ?? 'day') as 'day' | 'kind' | 'folder'
  const total = emptySum()
  const groups = new Map<string, ReturnType<typeof emptySum>>()
  const own = names.tenant === undefined ? {} : { tenant: names.tenant, prefix: names.prefix }
  for (let cursor: string | undefined; ; ) {
    // Without a tenant sub-agents are listed as well; with one they follow their parents.
    const page = await store.list({ ...own, limit: 1000, ...(cursor !== undefined && { cursor }) })
    for (const summary of page.sessions) {
      if (isInternalId(summary.id)) continue
      const group = groups.get(groupOf(summary, by)) ?? emptySum()
      groups.set(groupOf(summary, by), group)
      for (const sum of [total, group]) add(sum, summary)
    }
    cursor = page.next
    if (cursor === undefined) break
  }
  return json({ total, groups: Object.fromEntries([...groups].sort(([a], [b]) => (a < b ? -1 : 1))) })
}

const emptySum = () => ({ sessions: 0, turns: 0, calls: 0, tokens: 0, cost: 0 })

function add(sum: ReturnType<typeof emptySum>, { turns, calls, tokens, cost }: SessionSummary): void {
  sum.sessions++
  sum.turns += turns
  sum.calls += calls
  sum.tokens += tokens
  sum.cost += cost
}

function groupOf({ updatedAt, kind = '', folder = '' }: SessionSummary, by: 'day' | 'kind' | 'folder'): string {
  // An import may have any time.
  if (by === 'day') return new Date(Math.min(updatedAt, 8.64e15)).toISOString().slice(0, 10)
  return by === 'kind' ? kind : folder
}
