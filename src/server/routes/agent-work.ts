import type { UserContent } from '../../plugins/message.ts'
import type { AgentInstance } from '../../workflow/definitions/definition.ts'
import { hasScope } from '../caller.ts'
import { badRequest, Problem } from '../problem.ts'
import { type Call, type JsonSchema, json, type Route } from '../route.ts'
import { noAgent, openAgent, ownAgent, refusable, untilStored, withAgent, workflowOf } from '../served-workflow.ts'
import { keyOf, rateKey } from './send-message.ts'

const text = { type: 'string' } as const

export const contentSchema: JsonSchema = {
  description: 'A text, or { text, file: { name, mediaType, data in base64 }, wikiTiddlers }',
  anyOf: [
    { type: 'string', minLength: 1 },
    {
      type: 'object',
      additionalProperties: false,
      required: ['text'],
      properties: { text, file: { type: 'object' }, wikiTiddlers: { type: 'array', items: { type: 'object' } } },
    },
  ],
}

const aMessage = {
  type: 'object',
  additionalProperties: false,
  required: ['message'],
  properties: { message: { ...text, description: 'The id of a message of a person' }, force: { type: 'boolean' } },
} as const

/** Requests to agents: messages, answers, stops, rewinds and rollbacks. */
export const agentWorkRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/agents/{id}/messages',
    scope: 'read',
    summary: 'The messages of an agent, or some by their places',
    query: { from: { type: 'integer' }, to: { type: 'integer', description: 'Without the message at this place' } },
    answers: {
      200: {
        description: 'The messages, and how many there are in all',
        schema: { type: 'object', required: ['messages', 'count'] },
        example: { messages: [], count: 0 },
      },
      ...noAgent,
    },
    async handle(call) {
      const workflow = await workflowOf(call)
      const { id } = await ownAgent(call, workflow, call.params.id!)
      const messages = await workflow.getMessages(id, call.query)
      return json({ messages, count: (await workflow.getMessageIds(id)).length })
    },
  },
  {
    method: 'POST',
    path: '/v1/agents/{id}/messages',
    scope: 'send',
    summary: 'Sends a message. Two requests with the same Idempotency-Key are one message',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['content'],
      properties: { content: contentSchema },
    },
    answers: {
      202: {
        description: 'The message is stored and will be answered',
        schema: { type: 'object', required: ['clientKey'], properties: { clientKey: text } },
        example: { clientKey: 'k1' },
      },
      409: { description: 'The agent is closed' },
      429: { description: 'Too many messages, or too many agents at work' },
      ...noAgent,
    },
    async handle(call) {
      const workflow = await workflowOf(call)
      const agent = await openAgent(call, workflow, call.params.id!)
      return json({ clientKey: await sendToAgent(call, agent, call.body.content) }, 202)
    },
  },
  {
    method: 'POST',
    path: '/v1/agents/{id}/answers/{approvalId}',
    scope: 'answer',
    summary: 'Answers a call of the agent that waits, by the approvalId in its `pending`. The first answer counts',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: {
        decision: { type: 'string', enum: ['allow', 'deny'] },
        digest: { ...text, description: 'Of the call that was shown. Needed to allow' },
        content: { ...text, description: 'The answer to a question, or a note for the model' },
        scope: { type: 'string', enum: ['once', 'session', 'project'] },
      },
    },
    answers: {
      202: {
        description: 'The answer is stored, and the agent goes on',
        schema: { type: 'object', required: ['approvalId'], properties: { approvalId: text } },
        example: { approvalId: 'agent-keeper/c1' },
      },
      ...noAgent,
    },
    handle: answerAgent,
  },
  {
    method: 'POST',
    path: '/v1/agents/{id}/stop',
    scope: 'send',
    summary: 'Stops the work of an agent and denies its pending calls. Its state says when it has stopped',
    answers: { 202: { description: 'It is being stopped' }, ...noAgent },
    handle: (call) =>
      withAgent(
        call,
        async ({ workflow, id }) => {
          workflow.cancelAgent(id).catch(() => {}) // another process that does not stop: the state says so
        },
        202,
      ),
  },
  {
    method: 'POST',
    path: '/v1/agents/{id}/rewind',
    scope: 'send',
    summary: 'Removes a message of a person and all later ones. Files stay as they are',
    body: { ...aMessage, properties: { message: aMessage.properties.message } },
    answers: {
      200: {
        description: 'The content of the message, to be changed and sent again; absent without the scope "read"',
        schema: { type: 'object', properties: { content: { type: 'object' } } },
        example: { content: { text: 'Tidy the drawer' } },
      },
      ...noAgent,
    },
    async handle(call) {
      const workflow = await workflowOf(call)
      const { id } = await openAgent(call, workflow, call.params.id!)
      const content = await refusable(workflow.rewind(id, String(call.body.message)))
      return json(hasScope(call.caller, 'read') ? { content } : {})
    },
  },
  {
    method: 'GET',
    path: '/v1/agents/{id}/rollback',
    scope: 'read',
    summary: 'What a rollback to before a message would do',
    query: { message: { ...text, description: 'The id of a message of a person' } },
    answers: {
      200: {
        description: 'Files that it would restore and delete, and those that others changed since',
        schema: { type: 'object', required: ['restore', 'delete', 'conflicts'] },
        example: { restore: ['plan.txt'], delete: [], conflicts: [] },
      },
      ...noAgent,
    },
    async handle(call) {
      if (call.query.message === undefined) throw badRequest('Name the message: ?message=')
      const workflow = await workflowOf(call)
      const { id } = await ownAgent(call, workflow, call.params.id!)
      return json(await refusable(workflow.planRollback(id, String(call.query.message))))
    },
  },
  ...(['rollback', 'undo-rollback'] as const).map(
    (name): Route => ({
      method: 'POST',
      path: `/v1/agents/{id}/${name}`,
      scope: 'send',
      summary:
        name === 'rollback'
          ? 'Restores the files from before a message. Files that others changed since are kept, unless forced'
          : 'Undoes the last rollback to before this message',
      body: aMessage,
      answers: { 200: { description: 'What was restored, and what was not', schema: { type: 'object' } }, ...noAgent },
      async handle(call) {
        const workflow = await workflowOf(call)
        const { id } = await ownAgent(call, workflow, call.params.id!)
        const { message, force } = call.body as { message: string; force?: boolean }
        const act = name === 'rollback' ? workflow.rollback : workflow.undoRollback
        const { undo: _, ...result } = await refusable(act(id, message, { force: force === true }))
        return json(result)
      },
    }),
  ),
]

/** Stores a message for an agent, which works on it. Resolves with its key. */
export async function sendToAgent(call: Call, { id }: AgentInstance, content: unknown): Promise<string> {
  const { request, caller, names, server } = call
  const clientKey = keyOf(request)
  server.rates.countMessage(rateKey(names.tenant, caller.user))
  const workflow = await workflowOf(call)
  const meta = { user: caller.user, via: 'http' }
  const end = server.rates.beginWork(names.tenant ?? '', id)
  let work: Promise<unknown> | undefined
  try {
    await untilStored(workflow, id, {
      isStored: (entry) => 'clientKey' in entry && entry.clientKey === clientKey,
      begin: () => (work = workflow.sendMsgToAgent(id, content as string | UserContent, { clientKey, meta })),
    })
  } finally {
    Promise.resolve(work).then(end, end)
  }
  return clientKey
}

async function answerAgent(call: Call): Promise<Response> {
  const workflow = await workflowOf(call)
  const { id } = await openAgent(call, workflow, call.params.id!)
  const { decision, digest, content, scope } = call.body as {
    decision?: 'allow' | 'deny'
    digest?: string
    content?: string
    scope?: 'once' | 'session' | 'project'
  }
  const waiting = (await workflow.pending(id)).find(({ approvalId }) => approvalId === call.params.approvalId)
  if (!waiting) throw new Problem(404, 'no_call', 'No such call of this agent waits; GET /v1/agents/{id} lists those')
  const { approvalId, isQuestion } = waiting
  if (isQuestion && content === undefined) throw badRequest('This call asked a question; answer it with content')
  if (!isQuestion && decision === undefined) throw badRequest('This call waits for a decision; send allow or deny')
  if (digest !== undefined ? digest !== waiting.digest : decision === 'allow')
    throw new Problem(409, 'other_digest', 'Send the digest of the call that was shown: it may have changed since', {
      digest: waiting.digest,
    })
  await untilStored(workflow, id, {
    isStored: (entry) => 'callId' in entry && entry.callId === waiting.callId,
    begin: () =>
      isQuestion
        ? workflow.answerQuestion(id, approvalId, content!)
        : workflow.resolveApproval(id, approvalId, decision!, {
            by: call.caller.user,
            ...(content !== undefined && { note: content }),
            ...(scope && { scope }),
          }),
  })
  return json({ approvalId }, 202)
}
