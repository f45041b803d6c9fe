import { orCancelled } from './cancellation.ts'
import { AgentProviderError } from './errors.ts'
import { classifyFailure } from './model-attempts.ts'
import type { ModelRequest } from './provider.ts'
import { CallIds, normalizeReply, type Reply } from './reply.ts'
import type { Run } from './run.ts'
import { recordUsage } from './usage.ts'

/** A request outside the conversation. Missing fields are those of the run. */
export interface SideCall extends Partial<Omit<ModelRequest, 'messages'>>, Pick<ModelRequest, 'messages'> {
  /** The purpose of the call, as logged with its usage. */
  readonly cause: string
  /** The turn that the call belongs to, if any. */
  readonly turnId?: string
}

/** The reply to a side call. */
export type SideReply = Reply

/** A model call without a turn: no hooks of a turn fire, but its usage is logged and counted. */
export async function askAside(run: Run, { cause, turnId = '', ...call }: SideCall): Promise<SideReply> {
  const { behavior, model } = run.settings
  const defaults = {
    model,
    system: run.system.text,
    tools: [],
    maxTokens: behavior.maxTokens,
    thinking: 'off',
    cache: behavior.cache,
    ...(run.session && { sessionId: run.session.id }),
  } as const
  const request: ModelRequest = { ...defaults, ...call }
  if (!run.hooks.isWrapped('model')) return replyAside(run, turnId, cause, request)
  return run.hooks.wrap({
    kind: 'model',
    ctx: {
      run: run.facts,
      turnId,
      turn: run.progress.turnNumber,
      attempt: 1,
      cause,
      model: request.model,
      provider: run.provider.meta.name,
      request,
    },
    work: () => replyAside(run, turnId, cause, request),
    ifWorkNeverStarted: (error) => Promise.reject(error),
  })
}

async function replyAside(run: Run, turnId: string, cause: string, request: ModelRequest): Promise<SideReply> {
  let reply: Reply
  try {
    reply = await orCancelled(lastEvent(run, request), run.cancellation)
  } catch (error) {
    throw classifyFailure(run, error)
  }
  await recordUsage(run, turnId, cause, reply.usage)
  return reply
}

async function lastEvent(run: Run, request: ModelRequest): Promise<Reply> {
  const { model, tools } = request
  const schemaOf = (tool: string) => tools.find(({ name }) => name === tool)?.inputSchema
  for await (const event of run.provider.stream(request, run.cancellation.signal)) {
    if (event.type !== 'reply') continue
    return normalizeReply(event, { model, ids: new CallIds(() => false, run.newId), schemaOf })
  }
  throw new AgentProviderError('the stream ended before the reply was complete', { provider: run.provider.meta.name })
}
