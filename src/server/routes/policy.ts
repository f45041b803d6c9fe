import { checkedAs } from '../../core/is-record.ts'
import { orAborted } from '../../core/waiting.ts'
import { anything, offered } from '../about.ts'
import { badRequest, Problem } from '../problem.ts'
import { done, type JsonSchema, json, type Route } from '../route.ts'
import type { AuditQuery, PolicyCase, PolicyTest } from '../server-options.ts'

const text = { type: 'string' } as const
const name = { type: 'string', minLength: 1, maxLength: 200 } as const
const modes = ['plan', 'ask', 'allowlist', 'yolo'] as const
const verdicts = ['allow', 'ask', 'deny'] as const
const mode = { type: 'string', enum: modes, description: 'As in this approval mode, instead of that of the settings' }

const explanationSchema: JsonSchema = {
  title: 'Explanation',
  type: 'object',
  required: ['verdict', 'by', 'why'],
  properties: {
    verdict: { type: 'string', enum: verdicts },
    by: { ...text, description: 'What decided: a rule, the mode, a protection' },
    rule: { type: ['string', 'null'] },
    why: text,
    effects: { type: 'array', items: text },
    confinement: { description: 'The sandbox that its commands would run in, "outside", or null if there is none' },
    where: { ...text, description: 'The same in words' },
    key: { ...text, description: 'What rules of the tool are matched with' },
  },
}

const exampleExplanation = {
  ...{ verdict: 'ask', by: 'mode', rule: null, why: 'it runs a command, and the mode is ask', effects: ['exec'] },
  ...{ confinement: null, where: 'outside any sandbox', key: 'npm test' },
}

/** Each example of a rule is read as a shell line. */
const longestTest = 100_000

/** A pattern may take a tenth of a second for each case. */
const mostPatterns = 50
const longestMs = 30_000

function refusePatterns({ rules: given }: PolicyTest): void {
  for (const [tool, rule] of Object.entries(given?.tools ?? {}))
    for (const list of ['allowPatterns', 'denyPatterns'] as const)
      if ((rule?.[list]?.length ?? 0) > mostPatterns)
        throw badRequest(
          `tools.${tool.slice(0, 60)}.${list} may have at most ${mostPatterns} patterns here; send fewer`,
        )
}

const tooLong = (): Problem =>
  new Problem(422, 'too_long', `The test took longer than ${longestMs / 1000} s; send fewer cases, or simpler patterns`)

const rules = { type: 'array', maxItems: 1000 } as const

/** The rules about calls: what they say, what was decided, and what people allowed for longer. */
export const policyRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/policy/explain',
    scope: 'read',
    summary: 'What the rules say about a call, and why. Nothing runs',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['tool', 'input'],
      properties: { tool: name, input: { type: 'object' }, mode },
    },
    answers: { 200: { description: 'The decision', schema: explanationSchema, example: exampleExplanation } },
    async handle(call) {
      return json(await offered(call, 'explain', 'rules')(checkedAs<PolicyCase>(call.body), call.caller))
    },
  },
  {
    method: 'POST',
    path: '/v1/policy/test',
    scope: 'read',
    summary: 'Tests calls against the rules, or against rules that are given. Nothing runs',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['cases'],
      properties: {
        rules: {
          type: 'object',
          description: 'Instead of those in force. Their own examples are tested first',
          additionalProperties: false,
          properties: {
            mode: { type: 'string', enum: modes },
            ...{ allow: rules, ask: rules, deny: rules, allowlist: rules, tools: { type: 'object' } },
            workspaceReads: { type: 'string', enum: ['allow', 'ask'] },
          },
        },
        cases: {
          type: 'array',
          maxItems: 100,
          items: {
            type: 'object',
            additionalProperties: false,
            required: ['tool', 'input'],
            properties: { tool: name, input: { type: 'object' }, mode, expect: { type: 'string', enum: verdicts } },
          },
        },
      },
    },
    answers: {
      200: {
        description: 'One result for each case, in their order. `problem`: it could not be explained',
        schema: {
          type: 'object',
          required: ['results', 'passed', 'failed'],
          properties: { results: { type: 'array', items: { type: 'object' } } },
        },
        example: { results: [{ ...exampleExplanation, expect: 'ask', passed: true }], passed: 1, failed: 0 },
      },
      422: { description: 'The rules are wrong, fail their own examples, or take longer than 30 s' },
    },
    async handle(call) {
      const test = offered(call, 'testPolicy', 'rules to test')
      if (JSON.stringify(call.body).length > longestTest)
        throw badRequest(`Rules and cases may have ${longestTest} characters together; send fewer`)
      const asked = checkedAs<PolicyTest>(call.body)
      refusePatterns(asked)
      const late = AbortSignal.timeout(longestMs)
      const signal = AbortSignal.any([call.request.signal, late])
      return json(
        await orAborted(test(asked, call.caller, signal), signal).catch((error: unknown) => {
          throw late.aborted && error === signal.reason ? tooLong() : error
        }),
      )
    },
  },
  {
    method: 'GET',
    path: '/v1/rules',
    scope: 'read',
    summary: 'The rules in force, each with the layer that it comes from',
    answers: {
      200: {
        description: 'The mode, the rules, and the sandboxes of this machine',
        schema: { type: 'object', required: ['mode', 'rules'], properties: { rules: { type: 'array' } } },
        example: {
          ...{ mode: 'ask', rules: [{ list: 'deny', rule: 'fs.read:.env', layer: 'global' }], tools: {} },
          ...{ workspaceReads: 'allow', sandbox: { profiles: [], why: 'it was switched off' }, warnings: [] },
        },
      },
    },
    handle: async (call) => json(await offered(call, 'rules', 'rules')(call.caller)),
  },
  {
    method: 'GET',
    path: '/v1/grants',
    scope: 'admin',
    summary: 'Approvals that count for longer than one call',
    answers: {
      200: {
        description: 'All of them, the latest first',
        schema: { type: 'object', required: ['grants'], properties: { grants: { type: 'array' } } },
        example: {
          grants: [
            {
              ...{ id: '1f2e3d4c', tool: 'shell', covers: 'npm test', scope: 'project', project: '/home/ann/app' },
              ...{ grantedBy: 'ann', grantedAt: 1_790_000_000_000 },
            },
          ],
        },
      },
    },
    handle: async (call) => json({ grants: await offered(call, 'grants', 'grants')(call.caller) }),
  },
  {
    method: 'DELETE',
    path: '/v1/grants/{id}',
    scope: 'admin',
    summary: 'Revokes an approval',
    answers: { 204: { description: 'It counts no more' }, 404: { description: 'There is no such approval' } },
    async handle(call) {
      if (!(await offered(call, 'revokeGrant', 'grants to revoke')(call.params.id!, call.caller)))
        throw new Problem(404, 'no_grant', 'There is no such approval; GET /v1/grants lists those there are')
      return done()
    },
  },
  {
    method: 'GET',
    path: '/v1/audit',
    scope: 'admin',
    summary: 'One page of decisions about calls, newest first',
    query: {
      limit: { type: 'integer', minimum: 1, maximum: 1000 },
      session: text,
      tool: text,
      decision: { type: 'string', enum: verdicts },
      text: { ...text, description: 'Only records that contain this, in upper or lower case' },
      days: { type: 'integer', minimum: 1, maximum: 3660, description: 'Default 30' },
      cursor: { ...text, description: 'The `next` of the page before' },
    },
    answers: {
      200: {
        description: 'Records of the audit; `next` is the cursor of the next page',
        schema: {
          type: 'object',
          required: ['records'],
          properties: { records: { type: 'array', items: anything }, next: text },
        },
        example: { records: [] },
      },
    },
    async handle(call) {
      const { session, days = 30, limit = 100, ...query } = call.query as Record<string, string | number | undefined>
      const asked = {
        ...{ ...query, limit: Number(limit), since: call.server.clock.now() - Number(days) * 86_400_000 },
        ...(session !== undefined && { session: call.names.stored(String(session)) }),
      }
      return json(await offered(call, 'audit', 'audit')(checkedAs<AuditQuery>(asked), call.caller))
    },
  },
]
