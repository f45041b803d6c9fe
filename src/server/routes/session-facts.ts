import { readFamily } from '../../chat/commands/tree.ts'
import { whyLines } from '../../chat/commands/why.ts'
import { contextOf } from '../../chat/context-parts.ts'
import { forecastCall } from '../../chat/forecast.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import { eachEntryBackwards } from '../../sessions/history.ts'
import { loadSession } from '../../sessions/session.ts'
import type { ApprovalView } from '../../view/rows.ts'
import type { UsageView } from '../../view/session-view.ts'
import { Problem } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import type { OpenWorkspace } from '../workspaces.ts'

const tokens = { type: 'integer', minimum: 0 }

const contextAnswers: Route['answers'] = {
  200: {
    description: '`counts` is by kind, as a chart shows it; `forecast` is in dollars, if prices are known',
    schema: {
      type: 'object',
      required: ['total', 'parts', 'counts'],
      properties: {
        total: tokens,
        limit: { ...tokens, description: 'Of the model, if it is known' },
        parts: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name', 'kind', 'tokens'],
            properties: { name: { type: 'string' }, kind: { type: 'string' }, tokens },
          },
        },
        counts: {
          type: 'object',
          required: ['system', 'user', 'assistant', 'toolResults'],
          properties: { system: tokens, user: tokens, assistant: tokens, toolResults: tokens },
        },
        forecast: {
          type: 'object',
          required: ['likely', 'most'],
          properties: { likely: { type: 'number' }, most: { type: 'number' } },
        },
      },
    },
    example: {
      ...{ total: 5200, limit: 200_000, counts: { system: 4000, user: 200, assistant: 1000, toolResults: 0 } },
      parts: [{ name: 'instructions and tools', kind: 'system', tokens: 4000 }],
      forecast: { likely: 0.004, most: 0.09 },
    },
  },
}

/** Explanations: what fills the context, and why a call was decided as it was. */
export const sessionFactRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/sessions/{id}/context',
    scope: 'read',
    summary: 'What fills the context of the next model call, in estimated tokens, and what that call will cost',
    query: { draft: { type: 'string', description: 'A text that would be sent, for the forecast' } },
    answers: contextAnswers,
    handle: showContext,
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/context',
    scope: 'read',
    summary: 'The same for a text of any length. Nothing is sent or kept',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['draft'],
      properties: { draft: { type: 'string' } },
    },
    answers: contextAnswers,
    handle: showContext,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/calls/{callId}/why',
    scope: 'read',
    summary: 'Which rule, mode, grant or person decided about a call, where it ran, and what would change that',
    answers: {
      200: {
        description: '`lines` says it in sentences; `decision` is there as far as the audit has it',
        schema: {
          type: 'object',
          required: ['callId', 'name', 'input', 'lines'],
          properties: {
            callId: { type: 'string' },
            name: { type: 'string' },
            input: { type: 'object' },
            decision: { type: 'object', required: ['verdict', 'by', 'why'] },
            approver: { type: 'string' },
            asked: { type: 'string', description: 'Why a person was asked' },
            answer: { type: 'object', required: ['decision'], description: 'What the person said' },
            lines: { type: 'array', items: { type: 'string' } },
          },
        },
        example: {
          ...{ callId: 'toolu_1', name: 'shell', input: { command: 'npm publish' } },
          lines: ['asked about: the mode is ask', 'decided by: the mode'],
        },
      },
      404: { description: 'The session has no such call' },
    },
    handle: explainCall,
  },
  {
    method: 'GET',
    path: '/v1/sessions/{id}/forks',
    scope: 'read',
    summary:
      'The session with those it was copied from and copies of these, and their labels: of the 300 latest in its folder',
    answers: {
      200: {
        description: '`origin` is the session that one was copied from, and the last entry that both share',
        schema: {
          type: 'object',
          required: ['forks'],
          properties: {
            forks: {
              type: 'array',
              items: {
                type: 'object',
                required: ['id', 'title', 'updatedAt', 'labels'],
                properties: {
                  id: { type: 'string' },
                  title: { type: 'string' },
                  updatedAt: { type: 'integer' },
                  origin: { type: 'object', required: ['session', 'seq'] },
                  labels: { type: 'array', items: { type: 'object', required: ['seq', 'at', 'text'] } },
                },
              },
            },
          },
        },
        example: {
          forks: [
            { id: 'fix-login', title: 'Login', updatedAt: 1_790_000_000_000, labels: [] },
            {
              ...{ id: 'another-way', title: 'Login', updatedAt: 1_790_000_060_000, labels: [] },
              origin: { session: 'fix-login', seq: 12 },
            },
          ],
        },
      },
    },
    handle: listForks,
  },
]

async function listForks({ params, names, server: { store } }: Call): Promise<Response> {
  const { id } = await names.find(store, params.id!)
  const own = names.tenant === undefined ? {} : { tenant: names.tenant, prefix: names.prefix }
  const family = await readFamily(await loadSession(store, id), store, own)
  return json({
    forks: family.map(({ id: one, origin, labels, ...branch }) => ({
      ...{ id: names.shown(one), ...branch, labels: labels.map(({ seq, at, text }) => ({ seq, at, text })) },
      ...(origin && { origin: { ...origin, session: names.shown(origin.session) } }),
    })),
  })
}

async function showContext({ params, query, body, names, server }: Call): Promise<Response> {
  const summary = await names.find(server.store, params.id!)
  return server.workspaces.use(summary, async (open) => {
    const { workspace, session } = open
    const { transcript } = session.log
    const model = (await workspace.settings?.(session))?.model
    const usage = usageOf(session)
    const { total, parts } = contextOf(transcript.messagesFor(model?.provider ?? ''), usage.last)
    const counts = { system: 0, user: 0, assistant: 0, toolResults: 0 }
    for (const part of parts) counts[part.kind] += part.tokens
    const forecast = await forecastOf(open, {
      usage,
      model: model?.model,
      draft: String(body.draft ?? query.draft ?? ''),
    })
    return json({
      ...{ total, parts, counts },
      ...(model?.contextWindow !== undefined && { limit: model.contextWindow }),
      ...(forecast && { forecast }),
    })
  })
}

/** Of the turns that the next request is made from. */
function usageOf({ turns }: Session): UsageView {
  const used = turns.flatMap(({ role, usage }) => (role === 'assistant' && usage ? [usage] : []))
  const last = used.at(-1)
  const output = used.reduce((sum, one) => sum + one.output, 0)
  return { calls: used.length, input: 0, output, cacheRead: 0, cacheCreation: 0, ...(last && { last }) }
}

async function forecastOf(
  { workspace, session }: OpenWorkspace,
  { usage, model = '', draft }: { readonly usage: UsageView; readonly model: string | undefined; draft: string },
): Promise<{ readonly likely: number; readonly most: number } | undefined> {
  const next = forecastCall(usage, { draft })
  const costOf = await workspace.costOf?.(session)
  if (!next || !costOf) return undefined
  const [likely, most] = await Promise.all([costOf(model, next.likely), costOf(model, next.most)])
  return likely === undefined || most === undefined ? undefined : { likely, most }
}

async function explainCall({ params, names, server }: Call): Promise<Response> {
  const { store, workspaces } = server
  const summary = await names.find(store, params.id!)
  const callId = params.callId!
  const call = await findCall(store, summary.id, callId)
  if (!call) throw new Problem(404, 'no_call', `This session has no call ${JSON.stringify(callId.slice(0, 100))}`)
  const { approvals, at, ...shown } = call
  const found = await workspaces.use(summary, async ({ workspace }) => workspace.findDecision?.(summary.id, callId, at))
  const { reason, answer } = approvals.at(-1) ?? {}
  return json({
    ...{ callId, ...shown },
    ...found,
    ...(reason !== undefined && { asked: reason }),
    ...(answer && { answer }),
    lines: whyLines(call, found),
  })
}

interface FoundCall {
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  readonly at: number
  readonly approvals: readonly ApprovalView[]
}

/** A call with the questions about it, which come after it in the log. */
async function findCall(store: SessionStore, id: string, callId: string): Promise<FoundCall | undefined> {
  const later: LogEntry[] = []
  for await (const entry of eachEntryBackwards(store, id)) {
    const isAbout = entry.type === 'approval_requested' || entry.type === 'approval_answered'
    if (isAbout && entry.callId === callId) later.unshift(entry)
    if (entry.type !== 'turn') continue
    const call = entry.turn.content.find((block) => block.type === 'tool_call' && block.id === callId)
    if (call?.type !== 'tool_call') continue
    return { name: call.name, input: call.input, at: entry.at, approvals: approvalsIn(later) }
  }
  return undefined
}

function approvalsIn(entries: readonly LogEntry[]): readonly ApprovalView[] {
  return entries.flatMap((entry, i) => {
    if (entry.type !== 'approval_requested') return []
    const { seq, callId, digest, reason } = entry
    const answer = entries.slice(i + 1).find((one) => one.type === 'approval_answered')
    const asked = { seq, callId, digest, ...(reason !== undefined && { reason }) }
    if (answer?.type !== 'approval_answered') return [asked]
    const { decision, by, scope, at } = answer
    return [{ ...asked, answer: { seq: answer.seq, at, decision, by, ...(scope && { scope }) } }]
  })
}
