import type { HookContexts } from '../core/hook-map.ts'
import type { Run } from '../core/run.ts'
import { compact, shownMessages } from './compaction/compact.ts'
import { asBytes, type Limits, limitsAfterRefusal, promptBytes, promptTooLong } from './compaction/limits.ts'
import { pinnedIds } from './compaction/pins.ts'
import { type ContextEdit, firstOfNewest } from './compaction/plan.ts'
import { outputText } from './compaction/shorten.ts'
import { bytesOf, overheadOf, sizeOfAll } from './compaction/sizes.ts'
import { leftOut } from './tail-compaction.ts'

/**
 * A conversation that does not fit would fail in every further turn: it is shortened, even without `compactStrategy`, and
 * the request is sent once more per turn. If that fails too, the error says what can be done.
 */
export function createOverflowRecovery(run: Run): (overflow: Overflow) => Promise<void> {
  let tried: string | undefined
  return async (overflow) => {
    if (overflow.retry) return // another handler has shortened it
    const { turnId, request, error } = overflow
    const sent = asBytes(sizeOfAll(request.messages))
    const prompt = promptBytes(run, request.messages)
    const limits = await limitsAfterRefusal(run, request, error.message)
    const { room } = limits
    const giveUp = (what: string): void => {
      // The prompt itself is most of what is left.
      if (sent >= shortConversation && prompt > sent / 2) overflow.error = promptTooLong(run, request, room, error)
      else advise(error, what)
    }
    if (tried === turnId) return giveUp('It was made shorter once and still does not fit')
    tried = turnId
    const isHopeless = room && prompt + overheadOf(request) > room.window * room.bytesPerToken
    const isDone = !isHopeless && sent >= shortConversation && (await shorten(run, overflow, limits))
    if (isDone && asBytes(sizeOfAll(shownMessages(run))) < sent * 0.95) overflow.retry = true
    else giveUp('Nothing more in it can be left out')
  }
}

/** In bytes: less than a quarter of the smallest context of any model. Shortening would not help. */
const shortConversation = 3000

type Overflow = HookContexts['request:overflow']

async function shorten(run: Run, { turnId, request: { model } }: Overflow, limits: Limits): Promise<boolean> {
  const wantsSummary = run.settings.behavior.compactStrategy === 'summary'
  if (!wantsSummary && (await leaveOutResults(run, limits))) return true
  // A model that has summarised it in this step is not asked again.
  const asksModel = wantsSummary && !wasJustCompacted(run)
  return compact(run, { turnId, model, limits, asksModel })
}

function wasJustCompacted({ log: { transcript } }: Run): boolean {
  const last = transcript.seqOf(transcript.turns.at(-1)?.id) ?? 0
  return (transcript.compaction?.seq ?? 0) > last
}

/** Replaces the results of older turns by stubs, if that is enough. Logged, so that the next turn fits too. */
async function leaveOutResults(run: Run, { limit }: Limits): Promise<boolean> {
  const turns = run.log.transcript.shownTurns(run.provider.meta.name)
  const edits: ContextEdit[] = []
  const pinned = pinnedIds(run)
  let saved = 0
  for (const { id, blocks } of turns.slice(0, firstOfNewest(turns, run.settings.behavior.compactKeepTurns))) {
    for (const [index, block] of blocks.entries()) {
      if (block?.type !== 'tool_result' || pinned.has(id)) continue
      const bytes = asBytes(sizeOfAll([{ role: 'user', content: [block] }]))
      const stub = leftOut(bytesOf(outputText(block)))
      if (bytes <= stub.length * 2) continue
      edits.push({ type: 'context_edit', turnId: id, block: index, replacement: { ...block, output: stub } })
      saved += bytes - stub.length
    }
  }
  const isEnough = edits.length > 0 && asBytes(sizeOfAll(shownMessages(run))) - saved <= limit
  if (!isEnough) return false
  if (run.cancellation.isCancelled) throw run.cancellation.reason
  await run.log.appendAll(edits)
  return true
}

function advise(error: Overflow['error'], what: string): void {
  const advice = `${what}: use a model with a larger context, pin and keep less, take images or tools away, or begin a new session.`
  if (!error.message.includes(advice)) error.message = `${error.message.replace(/\.?$/, '.')} ${advice}`
}
