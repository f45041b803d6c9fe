import { notOffered } from '../problem.ts'
import { json, type Route } from '../route.ts'

const anything = { description: 'As the host tells it' }

const summaries = {
  models: 'The models that can be chosen',
  tools: 'The tools that agents have',
  mcp: 'MCP servers and their states',
  skills: 'Skills',
} as const

/** Facts about the host: models, tools, servers, skills, settings, rules and the audit. */
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
]
