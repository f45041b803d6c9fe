import { offered } from '../about.ts'
import { json, type Route } from '../route.ts'

/** MCP servers: login, logout, and what each offers. */
export const mcpRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/mcp/{name}/login',
    scope: 'admin',
    summary: 'Begins a login to an MCP server. The list of servers tells when it is done',
    answers: {
      202: {
        description: 'The address to open in a browser on the machine of this server, to which the login returns',
        schema: { type: 'object', required: ['url'], properties: { url: { type: 'string' } } },
        example: { url: 'https://auth.example.com/authorize?client_id=…' },
      },
      422: { description: 'There is no such server, or it has no login' },
    },
    handle: async (call) => json(await offered(call, 'mcpLogin', 'logins')(call.params.name!, call.caller), 202),
  },
  {
    method: 'POST',
    path: '/v1/mcp/{name}/logout',
    scope: 'admin',
    summary: 'Deletes the login to an MCP server, and revokes its tokens where the service can do that',
    answers: {
      200: {
        description: 'How many logins were deleted, and how many of them revoked',
        schema: { type: 'object', required: ['removed', 'revoked'] },
        example: { removed: 1, revoked: 1 },
      },
    },
    handle: async (call) => json(await offered(call, 'mcpLogout', 'logins')(call.params.name!, call.caller)),
  },
  {
    method: 'POST',
    path: '/v1/mcp/{name}/test',
    scope: 'admin',
    summary: 'Connects to an MCP server, and tells what it offers or why it cannot be used',
    answers: {
      200: {
        description: 'The result',
        schema: { type: 'object', required: ['name', 'isOk', 'tools'] },
        example: {
          ...{ name: 'files', isOk: true, state: 'ready', durationMs: 120, protocolVersion: '2026-03-01' },
          ...{ tools: [{ name: 'mcp_files_read', description: 'Reads a file' }], notes: [] },
        },
      },
      422: { description: 'There is no such server' },
    },
    handle: async (call) => json(await offered(call, 'mcpTest', 'MCP servers')(call.params.name!, call.caller)),
  },
]
