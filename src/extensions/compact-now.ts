import type { Agent } from '../core/agent.ts'
import { messageOf } from '../core/errors.ts'
import { wellFormed } from '../core/plain-json.ts'
import type { Extension, Run, RunOptions } from '../core/run.ts'
import type { ShownTurn } from '../core/shown-turns.ts'
import type { Message } from '../core/turn.ts'
import { shownMessages } from './compaction/compact.ts'
import { asBytes, limitsOf } from './compaction/limits.ts'
import { sizeOfAll } from './compaction/sizes.ts'
import { passagesOf, summarise } from './compaction/summarise.ts'
import { type WorkInRun, workInRun } from './work-in-run.ts'

/** An extension that summarises a conversation on request, whatever its size. */
export interface CompactNow extends Extension {
  /**
   * Summarises all but the last messages of an agent that is not running; resolves with the summary. Rejects if there is
   * nothing to summarise or the model gave no summary, and with an `AgentAbortedError` if aborted; nothing changes then.
   */
  compact(agent: Agent, options?: Pick<RunOptions, 'model' | 'signal'>): Promise<string>
}

/** How many of the last messages stay. */
const keptMessages = 4

export function compactNow(): CompactNow {
  const { do: doInRun, ...extension } = workInRun('compact-now')
  return { ...extension, compact: (agent, options) => compactWith({ do: doInRun }, agent, options) }
}

/** The same with an extension that the agent has already. */
export async function compactWith(
  work: Pick<WorkInRun, 'do'>,
  agent: Agent,
  options?: Pick<RunOptions, 'model' | 'signal'>,
): Promise<string> {
  cutOf(turnsOf(agent))
  return work.do(agent, compactRun, options)
}

/** The beginning of the message with the summary. */
const summaryHeading = '## Context Summary (compacted)'

const turnsOf = ({ log, meta }: Agent): readonly ShownTurn[] => log.transcript.shownTurns(meta.name)

/** How many of the oldest turns are replaced. */
function cutOf(turns: readonly ShownTurn[]): number {
  if (turns.length === 0) throw new Error('nothing to compact: the conversation is empty')
  if (turns.length <= keptMessages)
    throw new Error(
      `nothing to compact: the last ${keptMessages} messages are always kept, and there are ${turns.length} since the beginning or the last summary`,
    )
  return turns.length - keptMessages
}

/** Logs the summary. The log keeps everything; results whose calls are gone leave the request. */
async function compactRun(run: Run): Promise<string> {
  const { hooks, log, provider } = run
  const turns = log.transcript.shownTurns(provider.meta.name)
  const cut = cutOf(turns)
  const { seq: toSeq } = turns[cut - 1]!
  const before = shownMessages(run)
  const text = await summaryOf(run, turns.slice(0, cut), before)
  const summary = `${summaryHeading}\n\n${text}`
  if (run.cancellation.isCancelled) throw run.cancellation.reason
  await log.append({ type: 'compaction', toSeq, summary: [{ type: 'text', text: summary }] })
  const sizes = { bytesBefore: asBytes(sizeOfAll(before)), bytesAfter: asBytes(sizeOfAll(shownMessages(run))) }
  if (hooks.has('compaction:after'))
    await hooks.tell('compaction:after', { turnId: '', toSeq, ...sizes, isFallback: false })
  return text
}

async function summaryOf(run: Run, old: readonly ShownTurn[], messages: readonly Message[]): Promise<string> {
  const { log } = run
  const { model } = run.settings
  const { limit, hard } = await limitsOf(run, { model, messages, tools: run.tools.specs })
  const most = Math.min(Math.max(Math.floor(limit * 0.15), 2000), 24_000)
  const previous = log.transcript.compaction ? previousSummary(messages) : ''
  const room = hard === undefined ? limit : hard * 0.85 // the answer needs room too
  const task = { turnId: '', model, passages: passagesOf(old), previous, room, wanted: most * 0.7, most }
  const why: { error?: unknown } = {}
  const found = await summarise(recordingErrors(run, why), task)
  if (found !== undefined) return wellFormed(found)
  throw new Error(
    why.error === undefined
      ? 'the model gave no summary that can be used; the conversation is as it was'
      : `no summary could be had: ${messageOf(why.error)}`,
    { cause: why.error },
  )
}

/** The text of the previous summary. */
function previousSummary([first]: readonly Message[]): string {
  const text = first?.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n') ?? ''
  return text.replace(summaryHeading, '').trim()
}

/** The run, with `askAside` keeping its last error in `why`. */
function recordingErrors(run: Run, why: { error?: unknown }): Run {
  const askAside: Run['askAside'] = async (call) => {
    try {
      return await run.askAside(call)
    } catch (error) {
      why.error = error
      throw error
    }
  }
  return Object.create(run, { askAside: { value: askAside } })
}
