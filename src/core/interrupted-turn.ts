import { LeaseLostError } from './errors.ts'
import type { Draft } from './model-attempts.ts'
import { wellFormed } from './plain-json.ts'
import type { ModelRequest } from './provider.ts'
import type { Run } from './run.ts'
import type { Message, SessionTurn, TurnUsage } from './turn.ts'
import { addUsage, estimatedTokens, spend } from './usage.ts'

/**
 * What a person saw of a reply that was broken off becomes a turn: its text alone, marked. Calls and thinking without
 * their end are dropped. Whatever came is counted, as an estimate where the service did not say what it was.
 */
export async function keepInterrupted(run: Run, request: ModelRequest, draft: Draft): Promise<SessionTurn | undefined> {
  const { log, cancellation: stop } = run
  if (!(draft.hasContent || draft.counted) || log.isBroken || stop.reason instanceof LeaseLostError) return undefined
  const usage = draft.isCounted ? undefined : await estimateOf(run, request, draft)
  const text = wellFormed(draft.text)
  if (text.trim() === '') {
    if (usage) await spend(run, draft.turnId, 'interrupted reply', usage)
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
  run.progress.usage = addUsage(run.progress.usage, usage)
  run.progress.turnUsage.push(usage)
  await run.hooks.tell('usage', { turnId: turn.id, turn: run.progress.turn, usage, totals: run.progress.usage })
  return turn
}

async function estimateOf({ provider }: Run, request: ModelRequest, draft: Draft): Promise<TurnUsage> {
  const { model } = request
  const counted = draft.counted ?? { input: inputOf(request), output: 0, model }
  const written = estimatedTokens(draft.text) + estimatedTokens(draft.thinking) + estimatedTokens(draft.args)
  const usage: TurnUsage = { ...counted, output: Math.max(counted.output, written), estimated: true }
  try {
    const cost = await provider.costOf?.(model, usage)
    return cost === undefined ? usage : { ...usage, cost }
  } catch {
    return usage
  }
}

function inputOf({ system, tools, messages }: ModelRequest): number {
  const said = messages.map(({ content }) => content)
  return estimatedTokens(system + JSON.stringify(tools) + JSON.stringify(said, withoutMedia))
}

/** An image is far less for a model than its base64. */
const withoutMedia = (key: string, value: unknown): unknown => (key === 'data' ? undefined : value)

/** As a model is shown an interrupted reply. It depends on the message alone, so that what a wire made of it is kept. */
export function withInterruptionNote(message: Message): Message {
  if (!message.interrupted) return message
  const { interrupted: _, content, ...shown } = message
  const last = content.at(-1)
  if (last?.type !== 'text') return { ...shown, content: [...content, { type: 'text', text: interruptionNote }] }
  const text = `${last.text.trimEnd()}\n\n${interruptionNote}`
  return { ...shown, content: [...content.slice(0, -1), { ...last, text }] }
}

const interruptionNote = '[This reply was interrupted here, before it was complete.]'

/** What the model is told where a run goes on from an interrupted reply, and the user has said nothing since. */
export const goOnNote = '[Your last reply was interrupted. Go on from there.]'
