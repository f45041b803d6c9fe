import type { SessionAnswer } from '../../authority/answer-session.ts'
import { type ProposedRule, readGrantRule } from '../../authority/grants/grant-rule.ts'
import { CodedError, SessionNotFoundError } from '../../core/errors.ts'
import { questionAbout } from '../../core/interaction.ts'
import { isRecord } from '../../core/is-record.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { rootOf } from '../../sessions/family.ts'
import { type OpenCall, openCalls } from '../../sessions/open-calls.ts'
import { loadSession } from '../../sessions/session.ts'
import { answeredBefore, badRequest, checked, Problem } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { pendingCallSchema } from '../schemas.ts'
import type { SessionNames } from '../session-names.ts'

const examplePending = {
  session: 'fix-login',
  callId: 'toolu_1',
  name: 'shell',
  input: { command: 'npm publish' },
  reason: 'approval needed',
  digest: '3b1f…',
  isQuestion: false,
}

/** What waits for people, over all sessions, and their answers. */
export const pendingRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/pending',
    scope: 'read',
    summary: 'The calls that wait for a person, in all sessions or in one',
    query: { session: { type: 'string' } },
    answers: {
      200: {
        description: 'The calls, those of the session that changed last first',
        schema: {
          type: 'object',
          required: ['pending'],
          properties: { pending: { type: 'array', items: pendingCallSchema } },
        },
        example: { pending: [examplePending] },
      },
    },
    handle: listPending,
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/answers/{callId}',
    scope: 'answer',
    summary: 'Answers a call that waits. The first answer counts; it is signed by the server in the name of the caller',
    body: {
      type: 'object',
      additionalProperties: false,
      properties: {
        decision: { type: 'string', enum: ['allow', 'deny'] },
        digest: { type: 'string', description: 'Of the call that was shown. Needed to allow' },
        content: { type: 'string', description: 'The answer to a question, or a note for the model' },
        scope: {
          type: 'string',
          enum: ['once', 'session', 'project'],
          description: 'How long an allow counts. Default once',
        },
        where: { type: 'string', enum: ['outside'], description: 'Its commands run outside any sandbox' },
        rule: {
          type: 'string',
          maxLength: 1000,
          description:
            'With the scope project: the rule to keep, such as `shell:git commit *`, if the choice offers one',
        },
        edits: {
          type: 'array',
          items: {},
          description: 'The decision about each edit of the call, if only some are allowed',
        },
      },
    },
    answers: {
      202: {
        description: 'The answer is stored, and the session goes on',
        schema: { type: 'object', required: ['callId'], properties: { callId: { type: 'string' } } },
        example: { callId: 'toolu_1' },
      },
      422: { description: 'The rule cannot be kept: it does not cover the call, or covers too much' },
      409: { description: 'It was answered before, or is another call than the one that was shown' },
    },
    handle: answerCall,
  },
]

async function listPending({ query, names, server: { store } }: Call): Promise<Response> {
  if (query.session !== undefined)
    return json({ pending: await pendingIn(store, await names.find(store, String(query.session)), names) })
  const pending: unknown[] = []
  const read = new Set<string>()
  for (let cursor: string | undefined; pending.length < mostPending; ) {
    // Sub-agents too: one may wait while its root works on. Only the root has a tenant.
    const page = await store.list({
      ...{ status: 'waiting', prefix: names.prefix },
      ...(cursor !== undefined && { cursor }),
    })
    for (const summary of page.sessions) {
      const root = await rootOf(store, summary)
      if (read.has(root.id) || !(await names.owns(store, root))) continue
      read.add(root.id)
      pending.push(...(await pendingIn(store, root, names)))
    }
    cursor = page.next
    if (cursor === undefined) break
  }
  return json({ pending })
}

const mostPending = 1000

/** The calls of one session and its sub-agents that wait. */
export async function pendingIn(
  store: SessionStore,
  { id, title }: SessionSummary,
  names: SessionNames,
): Promise<readonly object[]> {
  const calls = await openCalls(store, id).catch((error: unknown) => {
    if (error instanceof SessionNotFoundError) return [] // deleted meanwhile
    throw error
  })
  return calls.map(({ sessionId, callId, name, input, reason, digest, request, wasAsked }: OpenCall) => ({
    session: names.shown(sessionId),
    root: names.shown(id),
    ...(title !== undefined && { title }),
    ...{ callId, name, input, reason, digest },
    isQuestion: !wasAsked,
    ...(request !== undefined && { request }),
  }))
}

/** Answers the call that `params` name with `body`. */
export async function answerCall({ params, body, caller, names, server }: Call): Promise<Response> {
  const { store, work, authorityFor } = server
  const summary = await names.find(store, params.id!)
  const { id } = summary
  const root = await rootOf(store, summary)
  const callId = params.callId!
  const session = await loadSession(store, id)
  const call = session.pending.find((one) => one.callId === callId)
  if (!call) throw new Problem(404, 'no_call', `No call ${JSON.stringify(callId.slice(0, 100))} waits in this session`)
  if (call.decision !== undefined) throw answeredBefore(call.decision)
  const { decision, digest, content, ...extent } = body as Record<string, string> & { decision?: 'allow' | 'deny' }
  const isOpen = (await openCalls(store, id)).some((one) => one.sessionId === id && one.callId === callId)
  if (!isOpen) throw answeredBefore()
  const isQuestion = !session.log.transcript.approvals.has(callId)
  if (isQuestion && content === undefined) throw badRequest('This call asked a question; answer it with content')
  if (!isQuestion && decision === undefined) throw badRequest('This call waits for a decision; send allow or deny')
  if (digest !== undefined ? digest !== call.digest : decision === 'allow')
    throw new Problem(
      409,
      'other_digest',
      'Send the digest of the call that was shown: what waits may have changed since',
      {
        digest: call.digest,
      },
    )
  const by = caller.user
  if (isQuestion) await session.answer(callId, { content: content!, by })
  else if (decision === 'deny')
    await session.answer(callId, { decision, by, ...(content !== undefined && { content }) })
  else {
    if (extent.rule !== undefined) refuseRule(extent.rule, extent.scope, questionAbout(call.request, callId).choices)
    const answer = {
      decision: 'allow',
      by,
      ...(content !== undefined && { note: content }),
      ...extent,
    } as SessionAnswer
    await checked((await authorityFor(root.tenant)).answer(session, callId, answer))
  }
  work.wake(root.id, root.tenant)
  return json({ callId }, 202)
}

/** A rule that cannot be kept would keep nothing: the person gets to know why, and the call waits on. */
function refuseRule(rule: string, scope: string | undefined, choices: unknown): void {
  const offered = (Array.isArray(choices) ? choices.filter(isRecord) : []).find((one) => one.scope === 'project')?.rule
  if (scope !== 'project' || !isRecord(offered))
    throw badRequest('A rule is kept with the scope project, where the choices of the call offer one; leave it out')
  try {
    readGrantRule(rule, offered as unknown as ProposedRule)
  } catch (error) {
    if (!(error instanceof CodedError)) throw error
    throw new Problem(422, 'invalid_rule', error.sentence)
  }
}
