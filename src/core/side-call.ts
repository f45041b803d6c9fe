import { orCancelled } from './cancellation.ts'
import { AgentProviderError, LeaseLostError } from './errors.ts'
import { estimateUsage, type Streamed } from './interrupted-turn.ts'
import { isRecord } from './is-record.ts'
import { classifyFailure } from './model-attempts.ts'
import type { ModelRequest } from './provider.ts'
import { CallIds, normalizeReply, type Reply } from './reply.ts'
import type { Run } from './run.ts'
import { normalizeUsage, promptUsageOf, recordUsage } from './usage.ts'

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
  const streamed = { ...nothing }
  let reply: Reply
  try {
    reply = await orCancelled(lastEvent(run, request, streamed), run.cancellation)
  } catch (error) {
    const recording = recordFailed(run, turnId, request, streamed, error).finally(() => pending.delete(recording))
    const { pending } = run.progress
    pending.add(recording) // an aborted run does not wait for its side calls
    await recording
    throw classifyFailure(run, error)
  }
  await recordUsage(run, turnId, cause, reply.usage)
  return reply
}

const nothing: Streamed = { text: '', thinking: '', args: '', promptUsage: undefined }

async function lastEvent(run: Run, request: ModelRequest, streamed: Streamed): Promise<Reply> {
  const { model, tools } = request
  const schemaOf = (tool: string) => tools.find(({ name }) => name === tool)?.inputSchema
  for await (const event of run.provider.stream(request, run.cancellation.signal)) {
    switch (event.type) {
      case 'reply':
        return normalizeReply(event, { model, ids: new CallIds(() => false, run.newId), schemaOf })
      case 'start':
        streamed.promptUsage = promptUsageOf(event.usage, model)
        break
      case 'text':
      case 'thinking':
        streamed[event.type] += event.delta
        break
      case 'tool_args':
        streamed.args += event.delta
        break
      case 'retry':
        Object.assign(streamed, nothing)
    }
  }
  throw new AgentProviderError('the stream ended before the reply was complete', { provider: run.provider.meta.name })
}

/** Counts a request without a reply: as its error reports, else estimated if the service had begun to answer. */
async function recordFailed(
  run: Run,
  turnId: string,
  request: ModelRequest,
  streamed: Streamed,
  error: unknown,
): Promise<void> {
  const { log, cancellation, progress } = run
  if (progress.areFailuresCounted || log.isBroken || cancellation.reason instanceof LeaseLostError) return
  const reported = (error as { usage?: unknown } | null)?.usage
  const { text, thinking, args, promptUsage } = streamed
  const hasBegun = text + thinking + args !== '' || promptUsage !== undefined
  if (!isRecord(reported) && !hasBegun) return
  const usage = isRecord(reported)
    ? normalizeUsage(reported, request.model)
    : await estimateUsage(run.provider, request, streamed)
  await recordUsage(run, turnId, cancellation.isCancelled ? 'aborted attempt' : 'failed attempt', usage)
}
