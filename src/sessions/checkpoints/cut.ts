import { type SessionTurn, toolCallsOf } from '../../core/turn.ts'
import type { NumberedTurn, TurnList } from '../../core/turn-list.ts'

/** What a checkpoint leaves out. */
export interface Cut {
  /** How many of the loaded turns. */
  readonly count: number
  /** The last entry that opening from the checkpoint does not need. */
  readonly from: number
}

/**
 * A cut of at most the first `most` turns that parts no call from its results. The last turn stays, because it says what
 * to do next.
 */
export function cutOf(list: TurnList, most: number): Cut {
  const { turns, seqs, rewoundAt } = list
  const begin = list.leftOut <= most ? list.leftOut : 0 // what a checkpoint left out before needs no second look
  let count = begin
  for (const closed of closedCounts(turns.slice(begin, Math.min(most, turns.length - 1)))) count = begin + closed
  list.leftOut = count
  const from = count === 0 ? list.from : seqs[count - 1]!
  const next = seqs[count] ?? Number.POSITIVE_INFINITY
  // What a rewind removed lies before the next turn, and is not needed.
  return { count, from: rewoundAt > from && rewoundAt < next ? rewoundAt : from }
}

/** The least entry to which a rewind leaves one of the turns after the first `count`. */
export function leastRewind({ turns, seqs }: TurnList, count: number): number {
  const [first] = closedCounts(turns.slice(count))
  return first === undefined ? Number.MAX_SAFE_INTEGER : seqs[count + first - 1]!
}

/** How many turns from the beginning can be separated from the rest without parting a call from its results. */
function* closedCounts(turns: readonly SessionTurn[]): Generator<number, void> {
  let open = new Set<string>()
  for (const [i, turn] of turns.entries()) {
    if (turn.role === 'assistant') open = new Set(toolCallsOf(turn).map(({ id }) => id))
    else for (const block of turn.content) if (block.type === 'tool_result') open.delete(block.callId)
    if (open.size === 0) yield i + 1
  }
}

/** Those of the turns that are left out that later work needs: pinned ones and the last messages. */
export function neededTurns(
  { turns, seqs, kept }: TurnList,
  count: number,
  pinned: ReadonlySet<unknown>,
): readonly NumberedTurn[] {
  const last = lastOnes.map((matches) => turns.findLastIndex((turn, i) => i < count && matches(turn)))
  const lastKept = lastOnes.map((matches, i) =>
    last[i] === -1 ? kept.findLast(({ turn }) => matches(turn)) : undefined,
  )
  // The results of a pinned turn need the turn with their calls.
  const isPinned = ({ id }: SessionTurn): boolean => pinned.has(id) || pinned.has(`${id}.results`)
  const found = pinned.size === 0 ? [] : turns.flatMap((turn, i) => (i < count && isPinned(turn) ? [i] : []))
  const places = [...new Set([...last, ...found])].filter((i) => i >= 0).sort((a, b) => a - b)
  return [
    ...kept.filter((one) => lastKept.includes(one) || isPinned(one.turn)),
    ...places.map((i) => ({ turn: turns[i]!, seq: seqs[i]! })),
  ]
}

/** The last reply, and the last message, also without those that came with results. */
const lastOnes: readonly ((turn: SessionTurn) => boolean)[] = [
  ({ role }) => role === 'assistant',
  ({ role, content }) => role === 'user' && content.some(({ type }) => type !== 'tool_result'),
  ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
]
