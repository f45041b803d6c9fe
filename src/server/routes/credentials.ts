import { offered } from '../about.ts'
import { Problem } from '../problem.ts'
import { done, json, type Route } from '../route.ts'

/** The keys of providers. They are written and deleted, and never read. */
export const credentialRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/providers',
    scope: 'read',
    summary: 'The providers of models, and whether each has a key. Keys are in no answer',
    answers: {
      200: {
        description: 'All of them',
        schema: { type: 'object', required: ['providers'], properties: { providers: { type: 'array' } } },
        example: { providers: [{ name: 'anthropic', isUsable: true, needsKey: true, key: 'stored' }] },
      },
    },
    handle: async (call) => json({ providers: await offered(call, 'providers', 'providers')(call.caller) }),
  },
  {
    method: 'PUT',
    path: '/v1/credentials/{provider}',
    scope: 'admin',
    summary: 'Stores the key of a provider, for the next runs. It can never be read',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['key'],
      properties: {
        key: { type: 'string', minLength: 1, maxLength: 8192 },
        check: { type: 'boolean', description: 'Store it only if the provider accepts it' },
      },
    },
    answers: {
      204: { description: 'It is stored' },
      422: { description: 'There is no such provider, or no such key' },
    },
    async handle(call) {
      const { key, check = false } = call.body as { key: string; check?: boolean }
      await offered(call, 'setKey', 'keys to set')({ provider: call.params.provider!, key, check }, call.caller)
      return done()
    },
  },
  {
    method: 'DELETE',
    path: '/v1/credentials/{provider}',
    scope: 'admin',
    summary: 'Deletes the stored key or login of a provider',
    answers: { 204: { description: 'It is deleted' }, 404: { description: 'Nothing is stored for it' } },
    async handle(call) {
      if (!(await offered(call, 'deleteKey', 'keys to delete')(call.params.provider!, call.caller)))
        throw new Problem(404, 'no_credential', 'Nothing is stored for this provider; GET /v1/providers tells')
      return done()
    },
  },
]
