import { checkedAs } from '../../core/is-record.ts'
import type { AgentChange } from '../../workflow/agent-settings.ts'
import type { Workflow, WorkflowSettings } from '../../workflow/workflow-contract.ts'
import { notOffered } from '../problem.ts'
import { type Call, type JsonSchema, json, type Route } from '../route.ts'
import { noAgent, openAgent, ownAgent, refusable, workflowOf } from '../served-workflow.ts'

const text = { type: 'string' } as const
const count = { type: 'integer', minimum: 0 } as const
const patterns = { type: 'array', maxItems: 100, items: { type: 'string', maxLength: 1000 } } as const

/** The same as that of the authority for a tool. */
const ruleSchema: JsonSchema = {
  title: 'ToolRule',
  type: 'object',
  additionalProperties: false,
  properties: {
    mode: { type: 'string', enum: ['auto', 'confirm'] },
    allowPatterns: { ...patterns, description: 'Regular expressions over the JSON of { tool, parameters }' },
    denyPatterns: patterns,
    timeoutMs: { ...count, description: '0: no limit' },
  },
}

const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] })

const settingsSchema: JsonSchema = {
  title: 'AgentSettings',
  type: 'object',
  required: ['plugins'],
  properties: {
    name: text,
    maxIterations: { ...count, description: 'Rounds of one execution; 0: any number' },
    contextWindowSize: { ...count, description: 'In tokens' },
    toolResultDuration: { anyOf: [count, { type: 'null' }] },
    plugins: {
      type: 'array',
      items: {
        type: 'object',
        required: ['id', 'toolId', 'enabled', 'tools'],
        properties: {
          ...{ id: text, toolId: text, caption: text, enabled: { type: 'boolean' }, isFixed: { type: 'boolean' } },
          ...{ approval: ruleSchema, timeoutMs: count },
          tools: { type: 'array', items: { type: 'object', required: ['name'] } },
        },
      },
    },
  },
}

const exampleSettings = {
  name: 'Keeper',
  plugins: [
    {
      ...{ id: 'alarm', toolId: 'alarm-clock', enabled: true, approval: { mode: 'confirm' } },
      tools: [{ name: 'alarm-clock', rule: { mode: 'confirm' } }],
    },
  ],
}

const defaultsProperties = {
  approval: { type: 'object', description: 'Rules by the name of the tool', additionalProperties: ruleSchema },
  retry: {
    type: 'object',
    description: 'How failed requests to a model are sent again',
    additionalProperties: false,
    properties: {
      ...{ maxAttempts: count, initialDelayMs: count, maxDelayMs: count, backoffMultiplier: { type: 'number' } },
      ...{ maxRetryAfterMs: count, maxTotalMs: count, retryableStatusCodes: { type: 'array', items: count } },
    },
  },
} as const

const defaultsAnswer = {
  200: {
    description: 'The settings of all agents',
    schema: { type: 'object', required: ['approval'], properties: defaultsProperties },
    example: { approval: { 'zx-script': { mode: 'confirm', denyPatterns: ['rm -rf'] } }, retry: { maxAttempts: 3 } },
  },
}

/** What people set for one agent, and for all of them: approval, time limits, retries. */
export const agentSettingsRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/agents/{id}/settings',
    scope: 'read',
    summary: 'The settings of an agent: its plugins with their tools, rules and time limits',
    answers: {
      200: {
        description: 'The settings, without prompts and parameters of plugins',
        schema: settingsSchema,
        example: exampleSettings,
      },
      ...noAgent,
    },
    async handle(call) {
      const workflow = await workflowOf(call)
      const { id } = await ownAgent(call, workflow, call.params.id!)
      return json(await refusable(workflow.getAgentSettings(id)))
    },
  },
  {
    method: 'PATCH',
    path: '/v1/agents/{id}',
    scope: 'admin',
    summary: 'Changes the name and settings of an agent, from its next message on. Null takes a change back',
    body: {
      type: 'object',
      additionalProperties: false,
      minProperties: 1,
      properties: {
        name: orNull({ type: 'string', minLength: 1, maxLength: 200 }),
        maxIterations: orNull(count),
        contextWindowSize: orNull(count),
        toolResultDuration: orNull(count),
        plugins: {
          type: 'array',
          maxItems: 100,
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['id'],
            properties: {
              id: text,
              enabled: orNull({ type: 'boolean' }),
              approval: orNull(ruleSchema),
              timeoutMs: orNull(count),
              toolResultDuration: orNull(count),
            },
          },
        },
      },
    },
    answers: {
      200: { description: 'The settings', schema: settingsSchema, example: exampleSettings },
      422: { description: 'The agent is at work, or a setting is wrong' },
      ...noAgent,
    },
    async handle(call) {
      const workflow = await workflowOf(call)
      const { id } = await openAgent(call, workflow, call.params.id!)
      await refusable(workflow.updateAgent(id, checkedAs<AgentChange>(call.body)))
      return json(await refusable(workflow.getAgentSettings(id)))
    },
  },
  {
    method: 'GET',
    path: '/v1/agent-settings',
    scope: 'read',
    summary: 'What is set for all agents: rules by the name of the tool, and retries',
    answers: defaultsAnswer,
    handle: async (call) => json(shownDefaults(await workflowOfAll(call))),
  },
  {
    method: 'PATCH',
    path: '/v1/agent-settings',
    scope: 'admin',
    summary: 'Changes what is set for all agents, from the next call on, in runs under way too',
    body: { type: 'object', additionalProperties: false, minProperties: 1, properties: defaultsProperties },
    answers: { ...defaultsAnswer, 422: { description: 'A rule or a number is wrong' } },
    async handle(call) {
      const workflow = await workflowOfAll(call)
      await refusable(workflow.updateSettings(checkedAs<WorkflowSettings>(call.body)))
      return json(shownDefaults(workflow))
    },
  },
]

/** Tenants may share a workflow, so that none may change it for the others. */
async function workflowOfAll(call: Call): Promise<Workflow> {
  if (call.names.tenant !== undefined) throw notOffered('settings of all agents')
  return workflowOf(call)
}

function shownDefaults({ settings: { approval = {}, retry } }: Workflow): WorkflowSettings {
  const known = Object.entries(retry ?? {}).filter(([name]) => Object.hasOwn(defaultsProperties.retry.properties, name))
  return { approval, ...(retry && { retry: Object.fromEntries(known) }) }
}
