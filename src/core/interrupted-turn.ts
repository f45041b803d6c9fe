import { isLeaving } from './cancellation.ts'
import { LeaseLostError } from './errors.ts'
import { estimateTokens } from './estimate-tokens.ts'
import type { Draft } from './model-attempts.ts'
import { wellFormed } from './plain-json.ts'
import type { ModelRequest, Provider } from './provider.ts'
import type { Run } from './run.ts'
import type { SessionTurn, TurnUsage } from './turn.ts'
import { countUsage, recordUsage } from './usage.ts'

/**
 * Logs the text of an interrupted reply as a turn that is marked as interrupted. Unfinished calls and thinking are dropped. The
 * usage of the reply is counted, and estimated if the service did not report it. A process that leaves the run logs the usage only:
 * the next process asks the model again.
 */
export async function logInterrupted(run: Run, request: ModelRequest, draft: Draft): Promise<SessionTurn | undefined> {
  const { log, cancellation } = run
  if (!(draft.hasContent || draft.promptUsage) || log.isBroken || cancellation.reason instanceof LeaseLostError)
    return undefined
  const usage = draft.isUsageRecorded ? undefined : await estimateUsage(run.provider, request, draft)
  const text = wellFormed(draft.text)
  if (text.trim() === '' || isLeaving(run)) {
    if (usage) await recordUsage(run, draft.turnId, 'interrupted reply', usage)
    return undefined
  }
  const turn: SessionTurn = {
    id: draft.turnId,
    runId: run.id,
    role: 'assistant',
    content: [{ type: 'text', text }],
    interrupted: true,
    createdAt: run.clock.now(),
    ...(usage && { usage }),
    model: request.model,
    provider: run.provider.meta.name,
  }
  await log.append({ type: 'turn', turn })
  if (!usage) return turn
  const { progress } = run
  countUsage(progress, usage)
  await run.hooks.tell('usage', { turnId: turn.id, turn: progress.turnNumber, usage, totals: progress.usage })
  return turn
}

/** What a service streamed before it stopped, and the usage that it reported when it accepted the request. */
export type Streamed = Pick<Draft, 'text' | 'thinking' | 'args' | 'promptUsage'>

export async function estimateUsage(
  provider: Provider,
  request: ModelRequest,
  { text, thinking, args, promptUsage }: Streamed,
): Promise<TurnUsage> {
  const { model } = request
  const reported = promptUsage ?? { input: inputOf(request), output: 0, model }
  const written = estimateTokens(text) + estimateTokens(thinking) + estimateTokens(args)
  const usage: TurnUsage = { ...reported, output: Math.max(reported.output, written), estimated: true }
  try {
    const cost = await provider.costOf?.(model, usage)
    return cost === undefined ? usage : { ...usage, cost }
  } catch {
    return usage
  }
}

function inputOf({ system, tools, messages }: ModelRequest): number {
  const contents = messages.map(({ content }) => content)
  return estimateTokens(system + JSON.stringify(tools) + JSON.stringify(contents, withoutMedia))
}

/** The base64 of an image is much longer than what the model reads of it. */
const withoutMedia = (key: string, value: unknown): unknown => (key === 'data' ? undefined : value)
