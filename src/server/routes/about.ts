import { version } from '../../core/version.ts'
import { anything, offered } from '../about.ts'
import { allScopes, hasScope } from '../caller.ts'
import { json, type Route } from '../route.ts'

const summaries = {
  models: 'The models that can be chosen',
  tools: 'The tools that agents have',
  mcp: 'MCP servers and their states',
  skills: 'Skills',
} as const

/** Facts about the host: what it offers, models, tools, servers, skills and settings. */
export const aboutRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/about',
    scope: 'read',
    summary: 'The caller, the version and place of this server, and what it offers',
    answers: {
      200: {
        description: '`offers` names what routes without it answer with 501',
        schema: {
          type: 'object',
          required: ['version', 'user', 'scopes', 'offers'],
          properties: {
            version: { type: 'string' },
            user: { type: 'string' },
            tenant: { type: 'string' },
            scopes: { type: 'array', items: { type: 'string', enum: allScopes } },
            host: { type: 'string', description: 'The name of the machine' },
            folder: { type: 'string', description: 'Where sessions without a folder work' },
            offers: { type: 'array', items: { type: 'string' } },
          },
        },
        example: {
          ...{ version: '0.1.0', user: 'ann', scopes: ['read', 'send'], host: 'desk', folder: '~/work' },
          offers: ['agents', 'models', 'tools'],
        },
      },
    },
    async handle({ caller, names, server: { options } }) {
      const { place, ...about } = options.about ?? {}
      const functions = Object.keys(about)
      return json({
        ...{ version, user: caller.user, ...(names.tenant !== undefined && { tenant: names.tenant }) },
        scopes: allScopes.filter((scope) => hasScope(caller, scope)),
        ...(await place?.(caller)),
        offers: [
          ...functions,
          ...(options.workflowFor ? ['agents'] : []),
          ...(options.workspaceFor ? ['workspaces'] : []),
        ].sort(),
      })
    },
  },
  ...(['models', 'tools', 'mcp', 'skills'] as const).map(
    (name): Route => ({
      method: 'GET',
      path: `/v1/${name}`,
      scope: 'read',
      summary: summaries[name],
      answers: { 200: { description: 'A list', schema: anything } },
      handle: async (call) => json({ [name]: await offered(call, name, name)(call.caller) }),
    }),
  ),
  {
    method: 'GET',
    path: '/v1/settings',
    scope: 'read',
    summary: 'The settings, without secrets',
    answers: { 200: { description: 'The settings', schema: anything } },
    handle: async (call) => json(await offered(call, 'settings', 'settings')(call.caller)),
  },
  {
    method: 'PATCH',
    path: '/v1/settings',
    scope: 'admin',
    summary: 'Changes settings; they count from the next run on',
    body: { type: 'object', minProperties: 1 },
    answers: { 200: { description: 'The settings', schema: anything } },
    handle: async (call) => json(await offered(call, 'changeSettings', 'settings to change')(call.body, call.caller)),
  },
]
