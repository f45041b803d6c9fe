import { attachFiles } from '../../chat/attach-files.ts'
import { withoutAttached } from '../../chat/attached-text.ts'
import { SessionBusyError } from '../../core/errors.ts'
import type { InboxItem } from '../../core/log.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import type { PromptPart } from '../../core/turn.ts'
import { sleep } from '../../core/waiting.ts'
import { readEvents } from '../../events/read-events.ts'
import { eachEntryBackwards } from '../../sessions/history.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { loadSession } from '../../sessions/session.ts'
import { hasScope, requireScope } from '../caller.ts'
import { Problem, parkedText, refuseSubAgent, withdrawnText } from '../problem.ts'
import { type Call, done, json, type Route } from '../route.ts'
import { messageContent } from '../schemas.ts'
import { tenantOf } from '../session-names.ts'
import { sendMessage } from './send-message.ts'

const accepted = {
  type: 'object',
  required: ['clientKey', 'head'],
  properties: {
    clientKey: { type: 'string' },
    head: { type: 'integer', description: 'Follow the events after this number' },
    notices: { type: 'array', items: { type: 'string' }, description: 'Which files are not attached, and why' },
    run: {
      type: 'object',
      description: 'With Prefer: wait, if the run ended in time',
      required: ['status', 'text'],
      properties: {
        status: { type: 'string' },
        stop: { type: 'string' },
        text: { type: 'string' },
        error: { type: 'string' },
      },
    },
  },
}

/** Sending and stopping. A message is accepted, never "run and wait": a lost connection stops nothing. */
export const messageRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/v1/sessions/{id}/messages',
    scope: 'send',
    summary: 'Sends a message. Two requests with the same Idempotency-Key are one message',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['content'],
      properties: {
        content: messageContent,
        files: {
          type: 'boolean',
          description: 'Attaches the small text files that the text names with @, as far as the model may read them',
        },
        mode: {
          type: 'string',
          enum: ['prompt', 'steer', 'followUp'],
          description: 'During a run, steer comes before the next model call, the others after the run. Default prompt',
        },
      },
    },
    headers: {
      'Idempotency-Key': 'Requests with the same key are one message. Default: a random one',
      Prefer: 'wait=<seconds>, at most 600: the answer waits for the end of the run',
    },
    answers: {
      200: {
        description: 'With Prefer: wait=<seconds>: the run has ended',
        schema: accepted,
        example: { clientKey: 'k1', head: 12, run: { status: 'completed', stop: 'end', text: 'Done.' } },
      },
      202: {
        description: 'The message is stored and will be answered',
        schema: accepted,
        example: { clientKey: 'k1', head: 12 },
      },
      409: { description: 'The session is parked, or with Prefer: wait, the message was taken back (withdrawn)' },
      429: { description: 'Too many messages or runs; see Retry-After' },
    },
    handle: postMessage,
  },
  {
    method: 'DELETE',
    path: '/v1/sessions/{id}/messages/{clientKey}',
    scope: 'send',
    summary: 'Takes back a message that the model has not got yet',
    answers: {
      200: {
        description: 'The model will not get it. Its key stays used. `content` is absent without the scope "read"',
        schema: {
          type: 'object',
          required: ['clientKey'],
          properties: { clientKey: { type: 'string' }, content: { type: 'array', items: { type: 'object' } } },
        },
        example: { clientKey: 'k1', content: [{ type: 'text', text: 'And then stop.' }] },
      },
      404: { description: 'There is no such message' },
      409: { description: 'The model has it (delivered), or another program runs the session (elsewhere)' },
    },
    handle: takeBack,
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/continue',
    scope: 'send',
    summary: 'Continues an interrupted run without a message',
    answers: { 202: { description: 'It is continued if there is anything to do' } },
    async handle({ params, names, server: { store, work } }) {
      const { id } = await names.find(store, params.id!)
      work.wake(id, await tenantOf(store, id))
      return done(202)
    },
  },
  {
    method: 'POST',
    path: '/v1/sessions/{id}/stop',
    scope: 'send',
    summary: 'Stops the run under way, in whichever process it runs. The log says when it has stopped',
    answers: { 202: { description: 'It is being stopped; without a run nothing happens' } },
    async handle({ params, names, caller, server: { store, work, options } }) {
      const { id, isHeld } = await names.find(store, params.id!)
      if (options.fleet) await options.fleet.stop(id)
      else if (!work.stop(id) && isHeld)
        await store.send(id, {
          mode: 'stop',
          clientKey: `stop/${crypto.randomUUID()}`,
          content: [],
          meta: { user: caller.user },
        })
      return done(202)
    },
  },
]

async function postMessage(call: Call): Promise<Response> {
  const { params, body, request, names, server } = call
  const summary = await names.find(server.store, params.id!)
  const { id, head, status } = summary
  if (status === 'parked') throw new Problem(409, 'parked', parkedText)
  const mode = (body.mode ?? 'prompt') as 'prompt' | 'steer' | 'followUp'
  const { content, notices = [] } = body.files === true ? await withFiles(call, summary, body.content) : body
  const message = { content, mode }
  const answer = { head, ...(Array.isArray(notices) && notices.length > 0 && { notices }) }
  const [, seconds] = /(?:^|[,;\s])wait=(\d{1,4})\b/.exec(request.headers.get('prefer') ?? '') ?? []
  if (seconds === undefined) return json({ clientKey: await sendMessage(call, id, message), ...answer }, 202)
  requireScope(call.caller, 'read') // the caller gets the model's answer
  const release = server.rates.openStream(names.tenant ?? '')
  try {
    const clientKey = await sendMessage(call, id, message)
    const run = await untilAnswered(call, { id, head, clientKey, seconds: Math.min(600, Number(seconds)) })
    return json({ clientKey, ...answer, ...(run && { run }) }, run ? 200 : 202, {
      'preference-applied': `wait=${seconds}`,
    })
  } finally {
    release()
  }
}

interface Awaited {
  readonly id: string
  /** Of the session when the message was sent. */
  readonly head: number
  readonly clientKey: string
  readonly seconds: number
}

/** A retry comes soon, so that not the whole log is read for it. */
const lookBack = 1000

/** How the run that answers a message ended; undefined if that took too long. Rejects if the message is taken back. */
export async function untilAnswered(
  { request, server: { store, closing } }: Call,
  { id, head, clientKey, seconds }: Awaited,
): Promise<
  { readonly status: string; readonly stop: string; readonly text: string; readonly error?: string } | undefined
> {
  const signal = AbortSignal.any([request.signal, closing, AbortSignal.timeout(seconds * 1000)])
  let input: string | undefined
  /** A run that began after the message came, and was to deliver it. */
  let runId: string | undefined
  let isDelivered = false
  let text = ''
  // The message may have been answered before: a retry of a request gets the same answer.
  for await (const event of readEvents(store, id, { after: Math.max(0, head - lookBack), signal })) {
    if (!event.durable) continue
    const { entry } = event
    if (entry.type === 'input' && entry.clientKey === clientKey) input = entry.id
    if (entry.type === 'withdrawn' && entry.input === input && !isDelivered)
      throw new Problem(409, 'withdrawn', withdrawnText)
    if (entry.type === 'run_started' && input !== undefined) runId ??= entry.runId
    if (entry.type === 'turn') {
      const isIt = entry.clientKey === clientKey || (input !== undefined && entry.consumed?.includes(input))
      isDelivered ||= isIt === true
      if (isDelivered && entry.turn.role === 'assistant') text = textIn(entry.turn.content)
    }
    if (entry.type !== 'run_ended') continue
    // A run that was left, or whose process died, is continued by another.
    const isInterrupted = entry.status === 'left' || (entry.status === 'error' && !entry.error)
    // A run that could not begin delivers nothing.
    const hasFailed = entry.status === 'error' && entry.runId === runId
    if (!isInterrupted && (isDelivered || hasFailed)) {
      const { status, stop, error } = entry
      return { status, stop, text, ...(error && { error: error.message }) }
    }
  }
  return undefined
}

const textIn = (content: readonly { readonly type: string }[]): string =>
  content.flatMap((block) => ('text' in block && block.type === 'text' ? [String(block.text)] : [])).join('')

/** A file that a person chose in the page is a part of its own. */
const isFileOfPage = (text: string, content: unknown): boolean =>
  typeof content !== 'string' && /^File [^\n]+:\n\n/.test(text)

/** A message with the files that its text names with `@`, and what was not attached, in words. */
async function withFiles(
  { server }: Pick<Call, 'server'>,
  summary: SessionSummary,
  content: unknown,
): Promise<{ readonly content: unknown; readonly notices?: readonly string[] }> {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly PromptPart[])
  // What an attached file says with `@` names no file.
  const text = withoutAttached(parts as readonly PromptPart[])
    .flatMap((part) => (part.type === 'text' && !isFileOfPage(part.text, content) ? [String(part.text)] : []))
    .join('\n')
  if (!text.includes('@')) return { content }
  return server.workspaces.use(summary, async ({ workspace, session }) => {
    const { execution, authority } = workspace
    // Without an authority a client could read what the agent itself may not.
    if (!execution || !authority) return { content }
    const folder = (await workspace.settings?.(session))?.folder
    const { message, notices } = await attachFiles(
      { text, parts: parts as readonly PromptPart[] },
      {
        agent: { execution, handle: undefined, session },
        authority,
        settings: { ...(folder !== undefined && { folder }) },
      },
    )
    return { content: message.parts, notices }
  })
}

/** How often, every 50 ms, it is tried while an agent is being opened, or a message is on its way into the log; and if another program has the session, which may be about to end. */
const tries = { here: 60, elsewhere: 10 }

/** Takes a message back. What the log says afterwards is the answer: the model gets it, or the person has it again. */
async function takeBack({ params, names, caller, server }: Call): Promise<Response> {
  const { store, work, clock } = server
  const summary = await names.find(store, params.id!)
  refuseSubAgent(summary)
  const { id } = summary
  const clientKey = params.clientKey!
  const tenant = await tenantOf(store, id)

  /** Does nothing while the run that may have the message is about to begin. */
  async function tryOnce(): Promise<void> {
    const running = work.session(id)
    if (running?.log.transcript.isRunActive) await running.takeBack(clientKey)
    else if (!work.has(id))
      await work.whileIdle(id, tenant, async () => (await loadSession(store, id)).takeBack(clientKey))
  }

  const most = summary.isHeld && !work.has(id) ? tries.elsewhere : tries.here
  for (let done = 0; ; done++) {
    const { state, content } = await findMessage(store, id, clientKey)
    if (state === 'withdrawn') return json({ clientKey, ...(hasScope(caller, 'read') && { content }) })
    if (state === 'delivered')
      throw new Problem(409, 'delivered', 'The model has this message; it cannot be taken back')
    if (state === 'none')
      throw new Problem(404, 'no_message', 'No message of this key waits in this session; it was never sent, or is old')
    if (done === most)
      throw new Problem(409, 'elsewhere', 'Another program runs this session; the message cannot be taken back here')
    if (done > 0) await sleep(50, { clock })
    await tryOnce().catch((error: unknown) => {
      if (!(error instanceof SessionBusyError)) throw error
    })
  }
}

interface FoundMessage {
  readonly state: 'waiting' | 'delivered' | 'withdrawn' | 'none'
  readonly content?: InboxItem['content']
}

/** A message in the inbox of the store, else in the log, from its end. */
async function findMessage(store: SessionStore, id: string, clientKey: string): Promise<FoundMessage> {
  const { head } = (await store.find(id)) ?? {}
  if ((await inboxOf(store, id, head)).some((item) => item.clientKey === clientKey)) return { state: 'waiting' }
  const withdrawn = new Set<string>()
  const delivered = new Set<string>()
  for await (const entry of eachEntryBackwards(store, id)) {
    if (entry.type === 'withdrawn') withdrawn.add(entry.input)
    if (entry.type !== 'turn' && entry.type !== 'input') continue
    if (entry.type === 'turn') for (const one of entry.consumed ?? []) delivered.add(one)
    if (entry.clientKey !== clientKey) continue
    if (entry.type === 'turn' || delivered.has(entry.id)) return { state: 'delivered' }
    return { state: withdrawn.has(entry.id) ? 'withdrawn' : 'waiting', content: entry.content }
  }
  return { state: 'none' }
}
