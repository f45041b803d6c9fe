import { checkedAs } from '../../core/is-record.ts'
import type { AgentDefinition, AgentInstance } from '../../workflow/definitions/definition.ts'
import type { AgentQuery, NewAgent } from '../../workflow/workflow-contract.ts'
import { badRequest, problemOf } from '../problem.ts'
import { type Call, type JsonSchema, json, type Route } from '../route.ts'
import { statuses } from '../schemas.ts'
import { noAgent, ownAgent, refusable, withAgent, workflowOf } from '../served-workflow.ts'
import { contentSchema, sendToAgent } from './agent-work.ts'
import { rateKey } from './send-message.ts'

const text = { type: 'string' } as const

const agentSchema: JsonSchema = {
  title: 'Agent',
  type: 'object',
  required: ['id', 'definitionId', 'created', 'modified', 'isSubAgent', 'closed'],
  properties: { id: text, definitionId: text, name: text, created: { type: 'integer' }, closed: { type: 'boolean' } },
}

const exampleAgent = {
  id: 'agent-keeper',
  definitionId: 'assistant',
  created: 1_790_000_000_000,
  modified: 1_790_000_060_000,
  isSubAgent: false,
  closed: false,
}

/** The persistent agents of a workflow. They answer to messages, which are accepted and worked on later. */
export const agentRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/definitions',
    scope: 'read',
    summary: 'What agents can be made from',
    answers: {
      200: {
        description: 'The definitions, without their prompts, plugins and servers',
        schema: { type: 'object', required: ['definitions'] },
        example: { definitions: [{ id: 'assistant', name: 'Assistant' }] },
      },
    },
    handle: async (call) => json({ definitions: (await workflowOf(call)).definitions.map(shownDefinition) }),
  },
  {
    method: 'GET',
    path: '/v1/agents',
    scope: 'read',
    summary: 'One page of agents, the last changed first',
    query: {
      state: { type: 'array', items: { type: 'string', enum: statuses } },
      definition: text,
      name: text,
      closed: { type: 'boolean', description: 'Closed ones too' },
      subAgents: { type: 'boolean', description: 'Sub-agents too' },
      limit: { type: 'integer', minimum: 1, maximum: 1000 },
      cursor: { ...text, description: 'The `next` of the page before' },
    },
    answers: {
      200: {
        description: 'A page; `next` is the cursor of the next one',
        schema: {
          type: 'object',
          required: ['agents'],
          properties: { agents: { type: 'array', items: agentSchema }, next: text },
        },
        example: { agents: [exampleAgent] },
      },
    },
    handle: listAgents,
  },
  {
    method: 'POST',
    path: '/v1/agents',
    scope: 'send',
    summary: 'Makes an agent, with a first message if one is given',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['definition'],
      properties: {
        definition: { type: 'string', minLength: 1, maxLength: 200 },
        id: { type: 'string', minLength: 1, maxLength: 120, description: 'Begins with agent-' },
        name: { type: 'string', minLength: 1, maxLength: 200 },
        config: { type: 'object', description: 'Changes the configuration of the definition' },
        message: contentSchema,
      },
    },
    answers: {
      201: { description: 'The agent', schema: agentSchema, example: exampleAgent },
      422: { description: 'There is no such definition, or the id is taken' },
    },
    handle: makeAgent,
  },
  {
    method: 'GET',
    path: '/v1/agents/{id}',
    scope: 'read',
    summary: 'An agent: its state, its last message, and the calls that wait for a person',
    answers: {
      200: {
        description: 'The agent',
        schema: {
          allOf: [agentSchema],
          properties: { status: { type: 'object' }, pending: { type: 'array' }, tokens: { type: 'object' } },
        },
        example: { ...exampleAgent, status: { state: 'completed', modified: 1_790_000_060_000 }, pending: [] },
      },
      ...noAgent,
    },
    async handle(call) {
      const workflow = await workflowOf(call)
      const agent = await ownAgent(call, workflow, call.params.id!)
      const status = await workflow.getStatus(agent.id)
      const pending = agent.isSubAgent ? [] : await workflow.pending(agent.id)
      const tokens = await workflow.getTokens(agent.id)
      return json({ ...shownAgent(agent), status, pending, ...(tokens && { tokens }) })
    },
  },
  {
    method: 'DELETE',
    path: '/v1/agents/{id}',
    scope: 'admin',
    summary: 'Deletes an agent with its messages and schedules',
    answers: { 204: { description: 'It is deleted' }, ...noAgent },
    handle: (call) => withAgent(call, async ({ workflow, id }) => workflow.deleteAgent(id)),
  },
  {
    method: 'POST',
    path: '/v1/agents/{id}/close',
    scope: 'send',
    summary: 'Closes an agent for good: no schedule wakes it, and it takes no messages. Its messages stay',
    answers: { 204: { description: 'It is closed' }, ...noAgent },
    handle: (call) => withAgent(call, async ({ workflow, id }) => workflow.closeAgent(id)),
  },
]

async function listAgents(call: Call): Promise<Response> {
  const { state, definition, ...query } = call.query as Omit<AgentQuery, 'status' | 'definitionId'> & {
    readonly state?: AgentQuery['status']
    readonly definition?: string
  }
  const { tenant } = call.names
  const workflow = await workflowOf(call)
  const page = await refusable(
    workflow.listAgents({
      ...query,
      ...(state !== undefined && { status: state }),
      ...(definition !== undefined && { definitionId: definition }),
      ...(tenant !== undefined && { tenant }),
    }),
  )
  return json({ ...page, agents: page.agents.map(({ tenant: _, ...agent }) => agent) })
}

async function makeAgent(call: Call): Promise<Response> {
  const { definition, message, ...options } = checkedAs<NewAgent & { definition: string; message?: unknown }>(call.body)
  const { tenant } = call.names
  // Ids are shared by all tenants: one that is taken would tell about another tenant.
  if (tenant !== undefined && options.id !== undefined) throw badRequest('The server chooses the ids of agents here')
  const workflow = await workflowOf(call)
  if (message !== undefined) {
    call.server.rates.checkMessage(rateKey(tenant, call.caller.user))
    call.server.rates.checkWork(tenant ?? '')
  }
  const own = tenant === undefined ? {} : { tenant }
  const agent = await refusable(workflow.createAgent(definition, { ...options, ...own }))
  if (message !== undefined)
    await sendToAgent(call, agent, message).catch(async (error: unknown) => {
      // A client repeats the whole request, which would make a further agent each time.
      if (problemOf(error)) await workflow.deleteAgent(agent.id)
      throw error
    })
  return json(shownAgent(agent), 201, { location: `/v1/agents/${encodeURIComponent(agent.id)}` })
}

/** Its configuration may hold keys of plugins. */
const shownAgent = ({ config: _, ...agent }: AgentInstance): Omit<AgentInstance, 'config'> => agent

/** Prompts, plugins and servers may hold keys. */
const shownDefinition = ({ id, name, description, model, heartbeat }: AgentDefinition): object => ({
  id,
  ...(name !== undefined && { name }),
  ...(description !== undefined && { description }),
  ...(model !== undefined && { model }),
  ...(heartbeat && { heartbeat }),
})
