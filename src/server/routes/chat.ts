import { outputOf, promptOf } from '../../ai-sdk/from-ui-messages.ts'
import { parseApprovalId } from '../../ai-sdk/row-parts.ts'
import type { UIPart } from '../../ai-sdk/ui-message.ts'
import { checkedAs } from '../../core/is-record.ts'
import { type OpenCall, openCalls } from '../../sessions/open-calls.ts'
import { loadSession } from '../../sessions/session.ts'
import { emptyView, foldOnwards } from '../../view/session-view.ts'
import { beforePrompt } from '../before-prompt.ts'
import { requireScope } from '../caller.ts'
import { dataStream } from '../data-stream.ts'
import { delivers, followReply, hasWork, type ReplyToFollow } from '../follow-reply.ts'
import { badRequest, checked, Problem } from '../problem.ts'
import { type Call, done, type Route } from '../route.ts'
import { chatSession, sendOnce, whenFree } from '../send-once.ts'
import { answerCall } from './pending.ts'
import { checkMessage } from './send-message.ts'

const stream = { description: 'The UI message stream, from the begin of the reply', type: 'text/event-stream' }

/** What `useChat` of the AI SDK speaks: sessions are chats, and the message stream comes from the log. */
export const chatRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/chat',
    scope: 'send',
    summary: 'Sends the last message of a chat of the AI SDK, or the answers in it, and streams the reply',
    body: {
      type: 'object',
      required: ['id', 'messages'],
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 200, description: 'The session; the first message makes it' },
        messages: {
          type: 'array',
          minItems: 1,
          description: 'Only the last one is read',
          items: {
            type: 'object',
            required: ['id', 'role', 'parts'],
            properties: {
              id: { type: 'string', maxLength: 200 },
              role: { type: 'string', enum: ['system', 'user', 'assistant'] },
              parts: { type: 'array', items: { type: 'object', required: ['type'] } },
            },
          },
        },
        trigger: { type: 'string', enum: ['submit-message', 'regenerate-message'] },
        messageId: { type: 'string', description: 'With the id of a message that was sent: it is replaced' },
      },
    },
    answers: { 200: stream, 409: { description: 'The session is parked, or another call waits than was shown' } },
    handle: postChat,
  },
  {
    method: 'GET',
    path: '/v1/chat/{id}/stream',
    scope: 'read',
    summary: 'The reply that is under way, from its begin, and what follows it',
    answers: { 200: stream, 204: { description: 'Nothing runs' } },
    async handle(call) {
      const { params, names, server } = call
      const summary = await server.store.find(names.stored(params.id!))
      if (!summary || !(await names.owns(server.store, summary))) return done()
      const { id, isHeld } = summary
      if (!server.work.has(id) && !isHeld && !hasWork(summary)) return done()
      const after = (await beforePrompt(server.store, id)) ?? 0
      return replyStream(call, async () => ({ id, after, followsAll: true }))
    },
  },
]

interface ChatBody {
  readonly id: string
  readonly messages: readonly ChatMessage[]
  readonly trigger?: string
  readonly messageId?: string
}

interface ChatMessage {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: readonly ChatPart[]
}

interface ChatPart {
  readonly type: string
  readonly toolCallId?: unknown
  readonly state?: unknown
  readonly output?: unknown
  readonly approval?: { readonly id?: unknown; readonly approved?: unknown; readonly reason?: unknown }
}

function postChat(call: Call): Promise<Response> {
  const { caller, body } = call
  requireScope(caller, 'read')
  const { messages } = checkedAs<ChatBody>(body)
  const last = messages.at(-1)!
  if (last.role === 'user') return replyStream(call, () => sendPrompt(call, last))
  if (last.role === 'assistant') return replyStream(call, () => sendAnswers(call, last))
  throw badRequest('The last message must be one of the user, or a reply with answers to its calls')
}

/** A request that is made again gets the same reply; one that replaces a message takes it back before. */
async function sendPrompt(call: Call, { id: sent, parts }: ChatMessage): Promise<ReplyToFollow> {
  const { id: name, trigger, messageId } = checkedAs<ChatBody>(call.body)
  if (sent === '') throw badRequest('The message has no id')
  const content = await checked((async () => promptOf(parts))())
  const session = await chatSession(call, name)
  const isReplaced = trigger === 'regenerate-message' || messageId === sent
  if (isReplaced) checkMessage(call, session.id, content) // before the old reply is gone
  if (!isReplaced || !(await takeBack(call.server, session.id, sent)))
    return sendOnce(call, session, { clientKey: sent, content })
  // A key counts once.
  return sendOnce(call, await chatSession(call, name), { clientKey: `${sent}~${session.head}`, content })
}

/** Rewinds the session to before a message. False if the message waits and no model has read it. */
async function takeBack(server: Call['server'], id: string, clientKey: string): Promise<boolean> {
  const { store } = server
  const session = await loadSession(store, id)
  if (!(await session.log.hasAccepted(clientKey))) return false
  let view = emptyView
  let input: string | undefined
  for await (const entry of session.entries({ after: (await beforePrompt(store, id, clientKey)) ?? 0 })) {
    view = foldOnwards(view, { durable: true, seq: entry.seq, entry })
    if (entry.type === 'input' && entry.clientKey === clientKey) input = entry.id
    if (!delivers(entry, clientKey, input)) continue
    const row = view.rows.at(view.rows.length - 1)
    const to = (row?.kind === 'message' ? row.from : entry.seq) - 1
    await whenFree(server, id, async () => (await loadSession(store, id)).rewind(to))
    return true
  }
  return false
}

/** Answers the calls that wait, as far as the message answers them. */
async function sendAnswers(call: Call, { parts }: ChatMessage): Promise<ReplyToFollow> {
  const { body, caller, names, server } = call
  const { id: name } = checkedAs<ChatBody>(body)
  requireScope(caller, 'answer')
  const { id, head } = await names.find(server.store, name)
  let isAnswered = false
  for (const open of await openCalls(server.store, id)) {
    const answer = answerTo(open, parts)
    if (!answer || open.sessionId !== id) continue
    await answerCall({ ...call, params: { id: name, callId: open.callId }, body: answer }).catch((error: unknown) => {
      // Another client has answered first; the reply has the outcome.
      if (!(error instanceof Problem && error.code === 'answered_before')) throw error
    })
    isAnswered = true
  }
  const after = await beforePrompt(server.store, id)
  if (after === undefined) throw new Problem(409, 'nothing_waits', 'No call of this session waits for this answer')
  return { id, after, has: parts as readonly UIPart[], ...(isAnswered && { goesOnAfter: head }) }
}

function answerTo({ callId, wasAsked }: OpenCall, parts: readonly ChatPart[]): Record<string, unknown> | undefined {
  for (const { state, approval, toolCallId, output } of parts) {
    if (!wasAsked && toolCallId === callId && state === 'output-available') return { content: textOf(output) }
    if (!wasAsked || state !== 'approval-responded' || typeof approval?.id !== 'string') continue
    const asked = parseApprovalId(approval.id)
    if (asked?.callId !== callId || typeof approval.approved !== 'boolean') continue
    const decision = approval.approved ? 'allow' : 'deny'
    const reason = typeof approval.reason === 'string' && approval.reason !== '' && { content: approval.reason }
    return { decision, digest: asked.digest, ...reason }
  }
  return undefined
}

function textOf(output: unknown): string {
  const given = outputOf(output)
  return typeof given === 'string' ? given : JSON.stringify(given)
}

/** The stream of a reply, once what has to be sent for it is sent. */
async function replyStream(call: Call, send: () => Promise<ReplyToFollow>): Promise<Response> {
  const onEnd = call.server.rates.openStream(call.names.tenant ?? '')
  try {
    const reply = await send()
    return dataStream(followReply(call, reply), { headers: { 'x-vercel-ai-ui-message-stream': 'v1' }, onEnd })
  } catch (error) {
    onEnd()
    throw error
  }
}
