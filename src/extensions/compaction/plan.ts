import type { EntryBody } from '../../core/log.ts'
import type { ShownTurn } from '../../core/shown-turns.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { levelFor, shortened } from './shorten.ts'
import { type Size, sizeOfBlock } from './sizes.ts'

/** How a conversation is reduced. */
export interface Plan {
  /** The number of oldest turns that a summary replaces. */
  readonly cut: number
  /** Cuts of large blocks in the turns that stay. */
  readonly edits: readonly ContextEdit[]
}

export type ContextEdit = Extract<EntryBody, { type: 'context_edit' }>

interface PlanOptions {
  readonly turns: readonly ShownTurn[]
  /** A turn whose calls have no results yet; it stays, with all that follows. */
  readonly openTurnId?: string | undefined
  readonly keepTurns: number
  /** At least so many of the oldest turns are replaced. */
  readonly atLeast?: number
  /** Turns that are kept verbatim: they do not count for the budget and are not cut. */
  readonly pinned?: ReadonlySet<unknown>
  /** The size of the turns that stay. */
  readonly budget: number
  /** A larger request cannot be sent. */
  readonly hard: number
  /** The user messages of the present run; the last user message is always one of them. */
  readonly prompts?: ReadonlySet<string>
  readonly weigh: (size: Size) => number
}

/**
 * Plans a cut between turns: calls and results are never separated. Keeps fewer turns if they are too large. The user's
 * present message is never cut: half a question may get a wrong answer.
 */
export function planCut(options: PlanOptions): Plan {
  const { turns, keepTurns, atLeast = 0, pinned = none, prompts = none, budget, hard, weigh } = options
  const wanted = Math.max(firstOfNewest(turns, keepTurns), atLeast)
  const unanswered = firstUnanswered(turns, prompts)
  const cuts = boundariesOf(turns, options.openTurnId).filter((index) => index >= wanted && index <= unanswered)
  const last = cuts.at(-1) ?? 0
  const blocks = turns.flatMap((turn, at) =>
    turn.blocks.flatMap((block, index) =>
      block && !pinned.has(turn.id) ? [{ at, turn, index, block, bytes: weigh(sizeOfBlock(block)) }] : [],
    ),
  )
  const newest = new Set(blocks.filter(({ at }) => at >= last))
  const question = turns.findLastIndex(isUserMessage)
  const isPrompt = ({ at, turn }: Part): boolean => at === question || (prompts.has(turn.id) && isUserMessage(turn))
  const promptParts = new Set(blocks.filter((part) => part.at >= wanted && isPrompt(part)))
  // Services refuse calls that were just answered without the thinking before them.
  const requiredThinking = [...newest].filter(({ block }) => block.type === 'thinking')

  for (const whole of [new Set([...newest, ...promptParts]), new Set([...promptParts, ...requiredThinking])]) {
    const fixed = sum([...whole].map(({ bytes }) => bytes))
    if (fixed > budget * 0.6) continue
    const weights = weightsFrom(turns.length, partsFrom(blocks, 0, whole), budget / 8)
    const cut = cuts.find((index) => fixed + weights[index]! <= budget)
    if (cut !== undefined) return { cut, edits: shorten(partsFrom(blocks, cut, whole), budget - fixed) }
  }

  // Not even the newest turns fit. Images that the model has not seen yet are cut last.
  const unseen = [...newest].filter((part) => promptParts.has(part) || sizeOfBlock(part.block).media > 0)
  const whole = new Set([...unseen, ...requiredThinking])
  const fixed = sum([...whole].map(({ bytes }) => bytes))
  const rest = partsFrom(blocks, last, whole)
  const room = Math.max(budget - fixed, budget / 4)
  const isTooMuch = fixed + Math.min(sum(rest.map(({ bytes }) => bytes)), room) > hard
  if (!isTooMuch) return { cut: last, edits: shorten(rest, room) }
  return { cut: last, edits: shorten(partsFrom(blocks, last, promptParts), hard - sum([...promptParts].map(bytesOf))) }
}

/** The index of the first of the newest turns. A turn begins with a reply of the model. */
export function firstOfNewest(turns: readonly ShownTurn[], count: number): number {
  let left = Math.max(count, 1)
  for (let i = turns.length - 1; i >= 0; i--)
    if (turns[i]!.role === 'assistant' && --left === 0) return i + offsetAfter(turns, i, count)
  return 0
}

/** If no turns are kept, only an unanswered message stays. */
function offsetAfter(turns: readonly ShownTurn[], index: number, count: number): number {
  const next = turns[index + 1]
  return count === 0 && next && !hasResults(next) ? 1 : 0
}

interface Part {
  readonly at: number
  readonly turn: ShownTurn
  readonly index: number
  readonly block: SessionContentBlock
  readonly bytes: number
}

const none: ReadonlySet<never> = new Set()

const bytesOf = ({ bytes }: Part): number => bytes

/** The indexes at which a conversation can be cut: before any turn except results. */
function boundariesOf(turns: readonly ShownTurn[], openTurnId: string | undefined): number[] {
  const open = openTurnId === undefined ? -1 : turns.findIndex(({ id }) => id === openTurnId)
  const indexes = turns.flatMap((turn, i) => (i === 0 || !hasResults(turn) ? [i] : []))
  return open < 0 ? indexes : indexes.filter((index) => index <= open)
}

const hasResults = ({ role, blocks }: ShownTurn): boolean =>
  role === 'user' && blocks.some((block) => block?.type === 'tool_result')

const isUserMessage = (turn: ShownTurn): boolean => turn.role === 'user' && !hasResults(turn)

/** The first message of this run without an answer. */
function firstUnanswered(turns: readonly ShownTurn[], prompts: ReadonlySet<string>): number {
  const answered = turns.findLastIndex(({ role }) => role === 'assistant')
  const first = turns.findIndex((turn, at) => at > answered && prompts.has(turn.id) && isUserMessage(turn))
  return first < 0 ? turns.length : first
}

/** For each index: the size of the turns from there on, if every block is cut to `least`. */
function weightsFrom(count: number, parts: readonly Part[], least: number): number[] {
  const weights = Array<number>(count).fill(0)
  for (const { at, bytes } of parts) weights[at]! += Math.min(bytes, least)
  for (let i = count - 2; i >= 0; i--) weights[i]! += weights[i + 1]!
  return weights
}

const partsFrom = (parts: readonly Part[], cut: number, whole: ReadonlySet<Part>): Part[] =>
  parts.filter((part) => part.at >= cut && !whole.has(part))

function shorten(parts: readonly Part[], budget: number): ContextEdit[] {
  const level = levelFor(
    parts.map(({ bytes }) => bytes),
    budget,
  )
  return parts.flatMap(({ turn, index, block, bytes }) => {
    if (bytes <= level) return []
    const replacement = shortened(block, Math.max(level - 64, 0)) // for its wrapping
    return [{ type: 'context_edit', turnId: turn.id, block: index, ...(replacement && { replacement }) }]
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
