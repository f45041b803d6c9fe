import { wellFormed } from '../../core/plain-json.ts'
import type { Run } from '../../core/run.ts'
import type { ShownTurn } from '../../core/shown-turns.ts'
import { cutText } from '../../core/text.ts'
import type { Message, SessionContentBlock } from '../../core/turn.ts'
import { sealUntrusted } from '../../platform/envelope.ts'
import { asBytes, type Limits } from './limits.ts'
import { frame, pinnedBlocks, pinnedIds, summaryText } from './pins.ts'
import { type Plan, planCut } from './plan.ts'
import { cutMiddle, levelFor } from './shorten.ts'
import { bytesOf, sizeOfAll, sizeOfBlock } from './sizes.ts'
import { type Passage, passagesOf, summarise } from './summarise.ts'

export interface CompactOptions {
  readonly turnId: string
  readonly model: string
  readonly limits: Limits
  /** Whether to ask a model. Otherwise the summary is made by rule. */
  readonly asksModel: boolean
}

/**
 * Reduces a conversation to less than half of its limit: older turns are replaced by a summary, large blocks in the rest
 * are cut. One append; the log keeps everything. Returns false if there was nothing to reduce.
 */
export async function compact(run: Run, options: CompactOptions): Promise<boolean> {
  const { turnId, limits } = options
  const { transcript } = run.log
  const provider = run.provider.meta.name
  const turns = transcript.shownTurns(provider)
  const most = Math.min(Math.max(Math.floor(limits.limit * 0.15), 400), 24_000)
  let plan = planFor(run, turns, limits, {
    most,
    pinned: pinsBytes(run, turns, { pins: [], most, limit: limits.limit }),
  })
  if (plan.cut === 0) return append(run, plan.edits)

  const asked = { turnId, toSeq: turns[plan.cut - 1]!.seq, pins: [] as string[] }
  await run.hooks.ask('compaction:before', asked)
  const pins = Array.isArray(asked.pins) ? asked.pins : []
  // Pins leave less room for turns: fewer turns may be kept than the event of the handlers says, never more.
  plan = planFor(run, turns, limits, {
    most,
    pinned: pinsBytes(run, turns, { pins, most, limit: limits.limit }),
    atLeast: plan.cut,
  })
  const toSeq = turns[plan.cut - 1]!.seq
  const before = transcript.messagesFor(provider)
  const bytesBefore = asBytes(sizeOfAll(before))
  const { text, isFallback } = await summaryOf(run, options, {
    passages: passagesOf(turns.slice(0, plan.cut)),
    previous: transcript.compaction ? summaryText(before[0]?.content ?? []) : '',
    most,
  })
  const summary: SessionContentBlock[] = [
    { type: 'text', text: `${frame}${text}` },
    ...pinnedBlocks(run, { toSeq, pins, budget: most, limit: limits.limit }),
  ]
  await append(run, [{ type: 'compaction', toSeq, summary }, ...plan.edits])
  const bytesAfter = asBytes(sizeOfAll(transcript.messagesFor(provider)))
  await run.hooks.tell('compaction:after', { turnId, toSeq, bytesBefore, bytesAfter, isFallback })
  return true
}

/** The messages that a request would have now. */
export function shownMessages({ provider, log }: Run): readonly Message[] {
  const messages = log.transcript.messagesFor(provider.meta.name)
  return provider.view?.(messages) ?? messages
}

async function append(run: Run, entries: Parameters<Run['log']['appendAll']>[0]): Promise<boolean> {
  if (entries.length === 0) return false
  if (run.cancellation.isCancelled) throw run.cancellation.reason
  await run.log.appendAll(entries)
  return true
}

interface Room {
  /** The size of the summary. */
  readonly most: number
  readonly pinned: number
  /** The number of turns that, as the event of the handlers says, will be replaced. */
  readonly atLeast?: number
}

function planFor(run: Run, turns: readonly ShownTurn[], { limit, hard, weigh }: Limits, room: Room): Plan {
  const { most, pinned, atLeast = 0 } = room
  const openTurnId = run.log.transcript.turnWithOpenCalls?.id
  const keepTurns = run.settings.behavior.compactKeepTurns
  const budget = Math.max(limit * 0.3 - Math.max(pinned - limit * 0.05, 0), limit * 0.05)
  const rest = hard === undefined ? Number.POSITIVE_INFINITY : hard - most - pinned - 400
  return planCut({
    turns,
    openTurnId,
    keepTurns,
    atLeast,
    pinned: pinnedIds(run),
    budget,
    hard: Math.max(rest, limit * 0.05),
    prompts: promptTurnsOf(run),
    weigh,
  })
}

const promptTurnsOf = ({ id, log }: Run): ReadonlySet<string> =>
  new Set(log.transcript.turns.flatMap((turn) => (turn.runId === id && turn.role === 'user' ? [turn.id] : [])))

function pinsBytes(
  run: Run,
  turns: readonly ShownTurn[],
  { pins, most, limit }: { pins: readonly unknown[]; most: number; limit: number },
): number {
  const toSeq = turns.at(-1)?.seq ?? 0
  const blocks = pinnedBlocks(run, { toSeq, pins, budget: most, limit })
  return blocks.reduce((sum, block) => sum + asBytes(sizeOfBlock(block)), 0)
}

interface Old {
  readonly passages: readonly Passage[]
  readonly previous: string
  readonly most: number
}

async function summaryOf(
  run: Run,
  { turnId, model, limits, asksModel }: CompactOptions,
  { passages, previous, most }: Old,
): Promise<{ text: string; isFallback: boolean }> {
  const replaced = passages.reduce((sum, { head, body }) => sum + bytesOf(head) + bytesOf(body), bytesOf(previous))
  const room = limits.hard === undefined ? limits.limit : limits.hard * 0.85 // the answer needs room too
  const task = { turnId, model, passages, previous, room, wanted: most * 0.7, most: Math.min(most, replaced) }
  const text = asksModel ? await summarise(run, task) : undefined
  if (text !== undefined) return { text: wellFormed(text), isFallback: false }
  const files = filesOf(run, passages)
  return { text: wellFormed(summaryByRule({ passages, previous, files }, most)), isFallback: true }
}

/** The files in the passages, each with its latest access. */
function filesOf({ log: { transcript } }: Run, passages: readonly Passage[]): string[] {
  const calls = new Set(passages.map(({ callId }) => callId))
  const files = new Map<string, string>()
  for (const [callId, { path, access }] of transcript.touched)
    if (calls.has(callId)) files.set(path, `${path} (${access})`)
  return [...files.values()]
}

/** A summary without a model: the user's messages, the replies and calls, and the files. */
export function summaryByRule(
  { passages, previous, files }: { passages: readonly Passage[]; previous: string; files: readonly string[] },
  most: number,
): string {
  const sections: string[] = []
  let left = most - 160 // the headings
  const add = (title: string, text: string, share: number): void => {
    const cut = text === '' ? '' : cutMiddle(text, Math.max(Math.floor(share), 0))
    if (cut === '') return
    sections.push(`## ${title}\n${cut}`)
    left -= bytesOf(cut)
  }
  add('Before', previous, left * 0.3)
  const userTexts = passages.filter(({ kind }) => kind === 'user').map(({ body }) => body.trim())
  add('What the user said', cutToBudget(userTexts, left * 0.5), left * 0.5)
  add('Files', cutToBudget(files, left * 0.2), left * 0.2)
  add('What was done', newest(steps(passages), left), left)
  return cutMiddle(sections.join('\n'), most)
}

/** All texts, each cut to an equal level; if there are too many, the first and the newest. */
function cutToBudget(texts: readonly string[], budget: number): string {
  const most = Math.max(Math.floor(budget / 120), 1)
  const kept = texts.length <= most ? texts : [texts[0]!, `(${texts.length - most} left out)`, ...texts.slice(1 - most)]
  const sizes = kept.map((text) => bytesOf(text) + 3)
  const level = levelFor(sizes, budget)
  return kept.map((text) => `- ${cutMiddle(text, Math.min(Math.max(level - 3, 10), mostOfOne))}`).join('\n')
}

const mostOfOne = 4_000

/** One line for each reply, and for each call with its result. */
function steps(passages: readonly Passage[]): string[] {
  const results = new Map(passages.flatMap((one) => (one.kind === 'result' ? [[one.callId, one] as const] : [])))
  return passages.flatMap(({ kind, head, body, callId }) => {
    if (kind === 'assistant') return [`- said: ${firstLine(body)}`]
    if (kind !== 'call') return []
    const result = results.get(callId)
    const outcome = result ? outcomeOf(result) : 'no result'
    return [`- ${head.replace(/^Assistant calls |:$/g, '')} ${cutMiddle(body, 120).replaceAll('\n', ' ')} → ${outcome}`]
  })
}

const outcomeOf = ({ isError, body }: Passage): string =>
  isError ? `error: ${sealUntrusted(firstLine(body)).text}` : `done, ${bytesOf(body)} bytes`

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return cutText(line, 160)
}

function newest(lines: readonly string[], budget: number): string {
  let left = budget - 40
  let from = lines.length
  while (from > 0 && left >= bytesOf(lines[from - 1]!) + 1) left -= bytesOf(lines[--from]!) + 1
  const note = from > 0 ? [`(${from} earlier steps left out)`] : []
  return [...note, ...lines.slice(from)].join('\n')
}
