import type { EntryBody } from '../../core/log.ts'
import type { ShownTurn } from '../../core/shown-turns.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { levelFor, shortened } from './shorten.ts'
import { type Size, sizeOfBlock } from './sizes.ts'

/** What becomes of the turns a model is shown. */
export interface Plan {
  /** So many of the oldest are replaced by a summary. */
  readonly cut: number
  /** What is too big in those that stay, made shorter. */
  readonly edits: readonly ContextEdit[]
}

export type ContextEdit = Extract<EntryBody, { type: 'context_edit' }>

export interface PlanOptions {
  readonly turns: readonly ShownTurn[]
  /** A turn that waits for results, and what comes after it, stays. */
  readonly openTurnId?: string | undefined
  readonly keepTurns: number
  /** No fewer of the oldest than these go, whatever would fit. */
  readonly atLeast?: number
  /** Turns that survive word for word, wherever they stand: they are no part of the budget, and are not cut. */
  readonly pinned?: ReadonlySet<unknown>
  /** For the turns that stay. */
  readonly budget: number
  /** More than that cannot be sent. */
  readonly hard: number
  /** The turns in which the present run was told what to do; the last message of a user is always one of them. */
  readonly asked?: ReadonlySet<string>
  readonly weigh: (size: Size) => number
}

/**
 * Cuts between turns only: a call and its results are never parted. Keeps fewer turns where they are too big. What the
 * user has just asked is never cut: half a question may get a wrong answer.
 */
export function planCut(options: PlanOptions): Plan {
  const { turns, keepTurns, atLeast = 0, pinned = none, asked = none, budget, hard, weigh } = options
  const wanted = Math.max(firstOfNewest(turns, keepTurns), atLeast)
  const unanswered = firstUnanswered(turns, asked)
  const cuts = boundariesOf(turns, options.openTurnId).filter((index) => index >= wanted && index <= unanswered)
  const last = cuts.at(-1) ?? 0
  const blocks = turns.flatMap((turn, at) =>
    turn.blocks.flatMap((block, index) =>
      block && !pinned.has(turn.id) ? [{ at, turn, index, block, bytes: weigh(sizeOfBlock(block)) }] : [],
    ),
  )
  const newest = new Set(blocks.filter(({ at }) => at >= last))
  const question = turns.findLastIndex(isSaid)
  const isAsked = ({ at, turn }: Part): boolean => at === question || (asked.has(turn.id) && isSaid(turn))
  const said = new Set(blocks.filter((part) => part.at >= wanted && isAsked(part)))
  // Calls that were just answered are refused without the thinking that led to them.
  const bound = [...newest].filter(({ block }) => block.type === 'thinking')

  for (const whole of [new Set([...newest, ...said]), new Set([...said, ...bound])]) {
    const fixed = sum([...whole].map(({ bytes }) => bytes))
    if (fixed > budget * 0.6) continue
    const weights = weightsFrom(turns.length, partsFrom(blocks, 0, whole), budget / 8)
    const cut = cuts.find((index) => fixed + weights[index]! <= budget)
    if (cut !== undefined) return { cut, edits: shorten(partsFrom(blocks, cut, whole), budget - fixed) }
  }

  // Not even the newest fits. Pictures that the model has not seen yet are cut only if they must be.
  const unseen = [...newest].filter((part) => said.has(part) || sizeOfBlock(part.block).media > 0)
  const whole = new Set([...unseen, ...bound])
  const fixed = sum([...whole].map(({ bytes }) => bytes))
  const rest = partsFrom(blocks, last, whole)
  const room = Math.max(budget - fixed, budget / 4)
  const isTooMuch = fixed + Math.min(sum(rest.map(({ bytes }) => bytes)), room) > hard
  if (!isTooMuch) return { cut: last, edits: shorten(rest, room) }
  return { cut: last, edits: shorten(partsFrom(blocks, last, said), hard - sum([...said].map(bytesOf))) }
}

/** A turn is what the model said and the results it asked for: it begins with an assistant message. */
export function firstOfNewest(turns: readonly ShownTurn[], count: number): number {
  let left = Math.max(count, 1)
  for (let i = turns.length - 1; i >= 0; i--)
    if (turns[i]!.role === 'assistant' && --left === 0) return i + afterIt(turns, i, count)
  return 0
}

/** Without turns to keep, only what nobody has answered yet stays. */
function afterIt(turns: readonly ShownTurn[], index: number, count: number): number {
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

/** Where a conversation can be cut: before anything but results. */
function boundariesOf(turns: readonly ShownTurn[], openTurnId: string | undefined): number[] {
  const open = openTurnId === undefined ? -1 : turns.findIndex(({ id }) => id === openTurnId)
  const indexes = turns.flatMap((turn, i) => (i === 0 || !hasResults(turn) ? [i] : []))
  return open < 0 ? indexes : indexes.filter((index) => index <= open)
}

const hasResults = ({ role, blocks }: ShownTurn): boolean =>
  role === 'user' && blocks.some((block) => block?.type === 'tool_result')

/** Somebody spoke, and no tool. */
const isSaid = (turn: ShownTurn): boolean => turn.role === 'user' && !hasResults(turn)

/** The first message of this run that no model has answered yet. */
function firstUnanswered(turns: readonly ShownTurn[], asked: ReadonlySet<string>): number {
  const answered = turns.findLastIndex(({ role }) => role === 'assistant')
  const first = turns.findIndex((turn, at) => at > answered && asked.has(turn.id) && isSaid(turn))
  return first < 0 ? turns.length : first
}

/** What the turns from each on weigh when everything in them is cut to the least that is still worth reading. */
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
    const replacement = shortened(block, Math.max(level - 64, 0)) // for what stands around it
    return [{ type: 'context_edit', turnId: turn.id, block: index, ...(replacement && { replacement }) }]
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)
