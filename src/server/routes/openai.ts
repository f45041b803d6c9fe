import type { UIMetadata } from '../../ai-sdk/ui-message.ts'
import { checkedAs } from '../../core/is-record.ts'
import { digestOf } from '../../platform/digest.ts'
import { fromOpenAI } from '../../sessions/interop/openai.ts'
import { loadSession } from '../../sessions/session.ts'
import { requireScope } from '../caller.ts'
import { dataStream } from '../data-stream.ts'
import { followReply, type ReplyToFollow } from '../follow-reply.ts'
import { badRequest, checked, Problem } from '../problem.ts'
import { type Call, json, type Route } from '../route.ts'
import { chatSession, sendOnce } from '../send-once.ts'
import { keyOf } from './send-message.ts'

/** What clients of OpenAI's chat completions speak. The agent runs its tools itself, so that a client sees text alone. */
export const openAIRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/openai/v1/chat/completions',
    scope: 'send',
    summary: 'A chat completion: the last user message is answered, in a new session or in the one that is named',
    body: {
      type: 'object',
      required: ['messages'],
      properties: {
        messages: { type: 'array', minItems: 1, items: { type: 'object', required: ['role'] } },
        stream: { type: ['boolean', 'null'] },
        stream_options: { type: ['object', 'null'], properties: { include_usage: { type: 'boolean' } } },
        metadata: {
          type: ['object', 'null'],
          properties: { session: { type: 'string', minLength: 1, maxLength: 200 } },
        },
        n: { type: ['integer', 'null'] },
        tools: { type: ['array', 'null'] },
      },
    },
    answers: {
      200: {
        description:
          'A chat.completion, or with stream: true chunks as server-sent events. X-Session-Id names the session',
        schema: { type: 'object', required: ['id', 'object', 'choices', 'usage'] },
      },
    },
    handle: complete,
    refuse: openAIError,
  },
  {
    method: 'GET',
    path: '/v1/openai/v1/models',
    scope: 'read',
    summary: 'The one model of this server: its agent, which chooses models by itself',
    answers: {
      200: { description: 'A list', schema: { type: 'object', required: ['object', 'data'] } },
    },
    handle: ({ server: { startedAt } }) =>
      json({
        object: 'list',
        data: [{ id: 'libero', object: 'model', created: Math.floor(startedAt / 1000), owned_by: 'libero' }],
      }),
    refuse: openAIError,
  },
]

/** A refusal in OpenAI's form. */
function openAIError(problem: Problem): Response {
  return json(errorOf(problem), problem.status, problem.headers)
}

function errorOf({ status, code, message }: Problem): object {
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return { error: { message, type, param: null, code } }
}

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

interface OpenAIBody {
  readonly messages: readonly object[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly metadata?: { readonly session?: string } | null
  readonly n?: number | null
  readonly tools?: readonly unknown[] | null
}

async function complete(call: Call): Promise<Response> {
  const { body, names, caller, server } = call
  requireScope(caller, 'read')
  const onEnd = server.rates.openStream(names.tenant ?? '')
  try {
    const reply = await askAgent(call)
    const headers = { 'x-session-id': encodeURIComponent(names.shown(reply.id)) }
    if (body.stream) return dataStream(streamed(call, reply), { headers, onEnd })
    return json(await whole(call, reply).finally(onEnd), 200, headers)
  } catch (error) {
    onEnd()
    throw error
  }
}

/** Sends the last message. A new session gets those before it as its history; one that is named has its own. */
async function askAgent(call: Call): Promise<ReplyToFollow> {
  const { body, request, server } = call
  const { messages, n, tools, metadata } = checkedAs<OpenAIBody>(body)
  if (n != null && n !== 1) throw badRequest('There is one choice; leave n out')
  if (tools?.length) throw badRequest('The agent has its own tools; leave tools out')
  const turns = await checked((async () => fromOpenAI(messages))())
  if (turns.at(-1)?.role !== 'user') throw badRequest('The last message must be one of the user')
  const given = keyOf(request)
  const clientKey = given.length > 150 ? digestOf(given) : given // it becomes a part of an id
  const named = namedIn(request.headers) ?? metadata?.session
  if (named !== undefined)
    return sendOnce(call, await chatSession(call, named), { clientKey, content: turns.at(-1)!.content })
  // A request that is made again with its key finds its session.
  const session = await chatSession(call, `openai-${clientKey}`, { tags: ['openai'] })
  // Messages after the last reply are one prompt: a model would answer those of the history by themselves.
  const lastReply = turns.findLastIndex(({ role }) => role === 'assistant')
  const [history, prompt] = [turns.slice(0, lastReply + 1), turns.slice(lastReply + 1)]
  if (session.turns === 0 && history.length > 0)
    await checked((await loadSession(server.store, session.id)).addTurns(history))
  return sendOnce(call, session, { clientKey, content: prompt.flatMap(({ content }) => content) })
}

/** Header values are ASCII, so that other names are percent-encoded. */
function namedIn(headers: Headers): string | undefined {
  const name = headers.get('x-session-id') ?? undefined
  try {
    return name && decodeURIComponent(name)
  } catch {
    throw badRequest('X-Session-Id must be percent-encoded')
  }
}

async function whole(call: Call, reply: ReplyToFollow): Promise<object> {
  const message = { role: 'assistant', content: '', refusal: null }
  let thought = ''
  for await (const piece of piecesOf(call, reply)) {
    if (piece.error) throw piece.error
    message.content += piece.content ?? ''
    thought += piece.reasoning_content ?? ''
    if (!piece.finish) continue
    const all = { ...message, ...(thought !== '' && { reasoning_content: thought }) }
    const choice = { index: 0, message: all, logprobs: null, finish_reason: piece.finish.reason }
    return { ...about(call, reply), object: 'chat.completion', choices: [choice], usage: piece.finish.usage }
  }
  throw new Problem(503, 'closing', 'The reply goes on, and is not told here') // the client has gone
}

async function* streamed(call: Call, reply: ReplyToFollow): AsyncGenerator<object, void, undefined> {
  const base = { ...about(call, reply), object: 'chat.completion.chunk' }
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    ...base,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  })
  yield chunk({ role: 'assistant', content: '' })
  for await (const { error, finish, ...delta } of piecesOf(call, reply)) {
    if (error) return yield errorOf(error)
    if (!finish) yield chunk(delta)
    else yield chunk({}, finish.reason)
    const { stream_options: wanted } = checkedAs<OpenAIBody>(call.body)
    if (finish && wanted?.include_usage) yield { ...base, choices: [], usage: finish.usage }
  }
}

const about = ({ server: { clock } }: Call, { clientKey }: ReplyToFollow): object => ({
  id: `chatcmpl-${clientKey}`,
  created: Math.floor(clock.now() / 1000),
  model: 'libero',
})

interface Piece {
  readonly content?: string
  readonly reasoning_content?: string
  readonly finish?: { readonly reason: string; readonly usage: object }
  readonly error?: Problem
}

/** What the agent says, over all its model calls. Text that was sent cannot be taken back, so the text of a second attempt follows that of the first. */
async function* piecesOf(call: Call, reply: ReplyToFollow): AsyncGenerator<Piece, void, undefined> {
  let isFirst = true
  for await (const chunk of followReply(call, reply)) {
    if (chunk.type === 'text-start' && !isFirst) yield { content: '\n\n' }
    if (chunk.type === 'text-start') isFirst = false
    if (chunk.type === 'text-delta') yield { content: chunk.delta }
    if (chunk.type === 'reasoning-delta') yield { reasoning_content: chunk.delta }
    // A client that got this would make the request again, and with it the run.
    if (chunk.type === 'error')
      yield { error: new Problem(500, 'run_failed', chunk.errorText, { headers: { 'x-should-retry': 'false' } }) }
    if (chunk.type !== 'finish') continue
    const { finishReason, messageMetadata } = chunk
    if (finishReason === 'tool-calls')
      yield { content: `${isFirst ? '' : '\n\n'}[Waits for a person; see GET /v1/pending]` }
    yield { finish: { reason: reasons[finishReason] ?? 'stop', usage: usageOf(messageMetadata) } }
  }
}

const reasons: Readonly<Record<string, string>> = { length: 'length', 'content-filter': 'content_filter' }

function usageOf({ usage }: UIMetadata): object {
  const { inputTokens = 0, outputTokens = 0, totalTokens = 0, cachedInputTokens = 0 } = usage ?? {}
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
  }
}
