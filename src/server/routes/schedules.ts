import { checkedAs } from '../../core/is-record.ts'
import type { NewSchedule, ScheduleChange } from '../../plugins/schedule.ts'
import { badRequest, Problem } from '../problem.ts'
import { type Call, done, type JsonSchema, json, type Route } from '../route.ts'
import { openAgent, ownSchedules, refusable, workflowOf } from '../served-workflow.ts'
import { keyOf } from './send-message.ts'

const text = { type: 'string' } as const

const when: JsonSchema = {
  type: 'object',
  required: ['type'],
  description: '{ type: "interval", everySeconds }, { type: "at", at } or { type: "cron", expression, timeZone }',
  properties: { type: { type: 'string', enum: ['interval', 'at', 'cron'] } },
}

const fields = {
  name: text,
  when,
  message: { type: 'string', minLength: 1, description: 'What the agent is told' },
  enabled: { type: 'boolean' },
  activeHours: { type: 'object', description: '{ from, to, timeZone }' },
  maxRuns: { type: 'integer', minimum: 1 },
  deleteAfterRun: { type: 'boolean' },
} as const satisfies Record<string, JsonSchema>

/** Null removes a field. */
const changes = {
  ...fields,
  name: { type: ['string', 'null'] },
  activeHours: { ...fields.activeHours, type: ['object', 'null'] },
  maxRuns: { type: ['integer', 'null'], minimum: 1 },
} as const

const scheduleSchema: JsonSchema = {
  title: 'Schedule',
  type: 'object',
  required: ['id', 'agentId', 'when', 'message', 'runs', 'createdAt'],
  properties: {
    ...{ id: text, agentId: text, ...fields },
    kind: { type: 'string', enum: ['task', 'alarm', 'heartbeat'] },
    ...{ runs: { type: 'integer' }, lastRunAt: { type: 'integer' }, nextRunAt: { type: 'integer' } },
  },
}

const exampleSchedule = {
  id: 'morning',
  agentId: 'agent-keeper',
  when: { type: 'cron', expression: '0 9 * * 1-5', timeZone: 'Europe/Berlin' },
  message: 'What is new?',
  runs: 3,
  createdAt: 1_790_000_000_000,
  nextRunAt: 1_790_060_000_000,
}

/** When agents are woken, and with which messages. */
export const scheduleRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/schedules',
    scope: 'read',
    summary: 'The schedules of all agents, or of one',
    query: { agent: text },
    answers: {
      200: {
        description: 'The schedules with their progress',
        schema: {
          type: 'object',
          required: ['schedules'],
          properties: { schedules: { type: 'array', items: scheduleSchema } },
        },
        example: { schedules: [exampleSchedule] },
      },
    },
    async handle(call) {
      const agent = call.query.agent as string | undefined
      return json({ schedules: await ownSchedules(call, await workflowOf(call), agent) })
    },
  },
  {
    method: 'POST',
    path: '/v1/schedules',
    scope: 'send',
    summary: 'Makes a schedule. Two requests with the same Idempotency-Key make one',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['agentId', 'when', 'message'],
      properties: { id: { type: 'string', minLength: 1, maxLength: 200 }, agentId: text, ...fields },
    },
    answers: {
      201: { description: 'The schedule', schema: scheduleSchema, example: exampleSchedule },
      422: { description: 'It can never run, or a field is wrong' },
    },
    async handle(call) {
      const schedule = checkedAs<NewSchedule>(call.body)
      const workflow = await workflowOf(call)
      // Ids are shared by all tenants, and a schedule replaces one of the same id.
      if (call.names.tenant !== undefined && schedule.id !== undefined)
        throw badRequest('The server chooses the ids of schedules here')
      await openAgent(call, workflow, schedule.agentId)
      return json(await refusable(workflow.schedules.add(schedule, { key: keyOf(call.request) })), 201)
    },
  },
  {
    method: 'PATCH',
    path: '/v1/schedules/{id}',
    scope: 'send',
    summary: 'Changes a schedule',
    body: { type: 'object', additionalProperties: false, minProperties: 1, properties: changes },
    answers: {
      200: { description: 'The schedule', schema: scheduleSchema, example: exampleSchedule },
      404: { description: 'There is no such schedule' },
    },
    async handle(call) {
      const id = await ownId(call)
      return json(await refusable((await workflowOf(call)).schedules.update(id, call.body as ScheduleChange)))
    },
  },
  {
    method: 'DELETE',
    path: '/v1/schedules/{id}',
    scope: 'send',
    summary: 'Deletes a schedule',
    answers: { 204: { description: 'It is deleted' }, 404: { description: 'There is no such schedule' } },
    async handle(call) {
      const id = await ownId(call)
      await refusable((await workflowOf(call)).schedules.remove(id))
      return done()
    },
  },
]

async function ownId(call: Call): Promise<string> {
  const id = call.params.id!
  if (!(await ownSchedules(call, await workflowOf(call))).some((one) => one.id === id))
    throw new Problem(
      404,
      'no_schedule',
      `There is no schedule ${JSON.stringify(id.slice(0, 200))}; GET /v1/schedules lists those you have`,
    )
  return id
}
