import { messageOf } from '../../core/errors.ts'
import { badRequest, Problem } from '../problem.ts'
import { type Call, done, json, type Route } from '../route.ts'
import { keyInSecret, newWebhookSecret } from '../webhooks/sign-webhook.ts'
import { type WebhookEvent, webhookEvents, webhookName, webhookPrefix } from '../webhooks/webhook.ts'

const text = { type: 'string' } as const

const webhookSchema = {
  title: 'Webhook',
  type: 'object',
  required: ['id', 'url', 'events', 'createdAt'],
  properties: {
    id: text,
    url: text,
    events: { type: 'array', items: { type: 'string', enum: webhookEvents } },
    createdAt: { type: 'integer' },
  },
}

const example = {
  id: 'f3a1c2d4-0000-4000-8000-000000000000',
  url: 'https://example.com/hooks/libero',
  events: ['run_ended'],
  createdAt: 1_790_000_000_000,
}

const mostWebhooks = 20

/** Webhooks: requests to other programs when runs end, when calls wait for a person, and when sessions are parked. */
export const webhookRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/webhooks',
    scope: 'admin',
    summary: 'Makes a webhook: from now on, events of sessions are sent to an address, signed as in Standard Webhooks',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['url', 'events'],
      properties: {
        url: { type: 'string', minLength: 1, maxLength: 2000 },
        events: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: webhookEvents } },
        secret: {
          type: 'string',
          maxLength: 200,
          description: 'whsec_ and 24 to 64 bytes in base64. Default: a new one',
        },
      },
    },
    answers: {
      201: {
        description: 'The webhook, and its secret for the only time',
        schema: { allOf: [webhookSchema], required: ['secret'], properties: { secret: text } },
        example: { ...example, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
      },
      429: { description: `There are ${mostWebhooks} webhooks already` },
    },
    handle: makeWebhook,
  },
  {
    method: 'GET',
    path: '/v1/webhooks',
    scope: 'admin',
    summary: 'The webhooks, without their secrets',
    answers: {
      200: {
        description: 'All of them',
        schema: {
          type: 'object',
          required: ['webhooks'],
          properties: { webhooks: { type: 'array', items: webhookSchema } },
        },
        example: { webhooks: [example] },
      },
    },
    async handle({ names, server: { webhooks } }) {
      const found = await webhooks.list(names.tenant)
      return json({ webhooks: found.map(({ id, ...webhook }) => ({ id: webhookName(id), ...webhook })) })
    },
  },
  {
    method: 'DELETE',
    path: '/v1/webhooks/{id}',
    scope: 'admin',
    summary: 'Deletes a webhook. Nothing more is sent to it, not even what was not delivered yet',
    answers: { 204: { description: 'It is deleted' }, 404: { description: 'There is no such webhook' } },
    async handle({ params, names, server: { webhooks } }) {
      if (!(await webhooks.remove(webhookPrefix + params.id!, names.tenant)))
        throw new Problem(404, 'no_webhook', 'There is no such webhook; GET /v1/webhooks lists those you have')
      return done()
    },
  },
]

async function makeWebhook({ body, names, server: { webhooks, clock } }: Call): Promise<Response> {
  const {
    url: given,
    events,
    secret = newWebhookSecret(),
  } = body as { url: string; events: WebhookEvent[]; secret?: string }
  if (!keyInSecret(secret))
    throw badRequest('The secret must be whsec_ and 24 to 64 bytes in base64; leave it out to get one')
  const url = await webhooks.checkUrl(given).catch((error) => {
    throw badRequest(`Nothing can be sent to this url: ${messageOf(error).slice(0, 400)}`)
  })
  if ((await webhooks.list(names.tenant)).length >= mostWebhooks)
    throw new Problem(409, 'too_many_webhooks', `You may have ${mostWebhooks} webhooks; delete one first`)
  const webhook = { url, events, secret, createdAt: clock.now() }
  const id = await webhooks.create(webhook, names.tenant)
  return json({ id: webhookName(id), ...webhook }, 201, { location: `/v1/webhooks/${webhookName(id)}` })
}
