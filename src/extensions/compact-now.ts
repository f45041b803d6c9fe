import type { Agent } from '../core/agent.ts'
import { messageOf } from '../core/errors.ts'
import { wellFormed } from '../core/plain-json.ts'
import type { Extension, Run, RunOptions } from '../core/run.ts'
import type { ShownTurn } from '../core/shown-turns.ts'
import type { Message } from '../core/turn.ts'
import { shownMessages } from './compaction/compact.ts'
import { asBytes, limitsOf } from './compaction/limits.ts'
import { passagesOf } from './compaction/render.ts'
import { sizeOfAll } from './compaction/sizes.ts'
import { summarise } from './compaction/summarise.ts'

/** An extension that sums up a conversation when somebody asks for it, however small the conversation is. */
export interface CompactNow extends Extension {
  /**
   * Sums up all but the last messages of an agent that is not running, and resolves with the summary. Rejects when there
   * is nothing to sum up or no summary came, and with an `AgentAbortedError` when it was stopped; then nothing changes.
   */
  compact(agent: Agent, options?: Pick<RunOptions, 'model' | 'signal'>): Promise<string>
}

/** How many messages stay as they are, from the end. */
const keep = 4

/** Makes one, for one agent. */
export function compactNow(): CompactNow {
  let wanted: Task | undefined
  return {
    name: 'compact-now',
    async start(run) {
      const task = wanted
      wanted = undefined
      if (!task) return
      task.summary = await sumUp(run)
      run.progress.turn++ // the summary was its model call, and with `maxTurns` its last: what is unanswered stays so
    },
    async compact(agent, options = {}) {
      cutOf(turnsOf(agent))
      const task: Task = { summary: '' }
      wanted = task
      try {
        await agent.run({ ...options, behavior: { maxTurns: 1 } })
      } finally {
        wanted = undefined
      }
      return task.summary
    },
  }
}

/** How the message begins that stands for what was summed up. */
const summaryHeading = '## Context Summary (compacted)'

interface Task {
  summary: string
}

const turnsOf = ({ log, meta }: Agent): readonly ShownTurn[] => log.transcript.shownTurns(meta.name)

/** How many of the oldest go. */
function cutOf(turns: readonly ShownTurn[]): number {
  if (turns.length === 0) throw new Error('nothing to compact: the conversation is empty')
  if (turns.length <= keep)
    throw new Error(
      `nothing to compact: the last ${keep} messages are always kept, and there are ${turns.length} since the beginning or the last summary`,
    )
  return turns.length - keep
}

/** One append: the log keeps everything, and results whose call is gone are not shown any more. */
async function sumUp(run: Run): Promise<string> {
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
  const previous = log.transcript.compaction ? textBefore(messages) : ''
  const room = hard === undefined ? limit : hard * 0.85 // the answer needs room, too
  const task = { turnId: '', model, passages: passagesOf(old), previous, room, wanted: most * 0.7, most }
  const why: { error?: unknown } = {}
  const found = await summarise(listening(run, why), task)
  if (found !== undefined) return wellFormed(found)
  throw new Error(
    why.error === undefined
      ? 'the model gave no summary that can be used; the conversation is as it was'
      : `no summary could be had: ${messageOf(why.error)}`,
    { cause: why.error },
  )
}

/** The summary that stands for the time before, without its heading. */
function textBefore([first]: readonly Message[]): string {
  const text = first?.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n') ?? ''
  return text.replace(summaryHeading, '').trim()
}

/** The same run; why a question failed can be read afterwards. */
function listening(run: Run, why: { error?: unknown }): Run {
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
