import type { PatternBudget, PatternTree } from './pattern-problem.ts'

/**
 * Whether a loop of the pattern can match the same text in two ways. Each iteration then doubles the ways, and a
 * backtracking matcher does not end. `unknown`: the budget is spent.
 */
export function ambiguityOf(tree: PatternTree, flags: string, budget: PatternBudget): Ambiguity {
  try {
    const automaton = automatonOf(tree, budget)
    return isAmbiguous(automaton, overlapOf(automaton.sources, flags, budget), budget) ? 'endless' : 'none'
  } catch (error) {
    if (error instanceof Verdict) return error.ambiguity
    throw error
  }
}

type Ambiguity = 'none' | 'endless' | 'unknown'

class Verdict extends Error {
  readonly ambiguity: Ambiguity
  constructor(ambiguity: Ambiguity) {
    super(ambiguity)
    this.ambiguity = ambiguity
  }
}

function spend(budget: PatternBudget, steps: number): void {
  budget.steps -= steps
  if (budget.steps < 0) throw new Verdict('unknown')
}

/** An automaton with one state for each character of the pattern; `next[p]` are the states after `p`, with the number of ways. */
interface Automaton {
  readonly sources: readonly string[]
  readonly next: readonly ReadonlyMap<number, number>[]
}

interface Piece {
  readonly first: readonly number[]
  readonly last: readonly number[]
  readonly canBeEmpty: boolean
}

const empty: Piece = { first: [], last: [], canBeEmpty: true }

/** A longer repetition is represented by a loop, or by fewer copies, with the same result. */
const mostCopies = 8
const fewerCopies = 4

function automatonOf(tree: PatternTree, budget: PatternBudget): Automaton {
  const sources: string[] = []
  const next: Map<number, number>[] = []

  function connect(from: Piece, to: Piece): void {
    spend(budget, from.last.length * to.first.length)
    for (const p of from.last) for (const q of to.first) next[p]!.set(q, (next[p]!.get(q) ?? 0) + 1)
  }

  function joined(a: Piece, b: Piece): Piece {
    connect(a, b)
    spend(budget, a.first.length + a.last.length + b.first.length + b.last.length)
    return {
      first: a.canBeEmpty ? [...a.first, ...b.first] : a.first,
      last: b.canBeEmpty ? [...a.last, ...b.last] : b.last,
      canBeEmpty: a.canBeEmpty && b.canBeEmpty,
    }
  }

  function build(node: PatternTree): Piece {
    spend(budget, 1)
    if (node.kind === 'atom') {
      const state = sources.push(node.source) - 1
      next.push(new Map())
      return { first: [state], last: [state], canBeEmpty: false }
    }
    if (node.kind === 'repeat') return repeated(node.body, node.min, node.max)
    const pieces = node.parts.map(build)
    if (node.kind === 'sequence') return pieces.reduce(joined, empty)
    return {
      first: pieces.flatMap(({ first }) => first),
      last: pieces.flatMap(({ last }) => last),
      canBeEmpty: pieces.some(({ canBeEmpty }) => canBeEmpty),
    }
  }

  function repeated(body: PatternTree, min: number, max: number): Piece {
    if (max === 0) return empty
    const isLong = max > mostCopies && max !== Infinity
    if (max === Infinity || (isLong && body.kind !== 'atom')) {
      const copies = Array.from({ length: Math.max(1, Math.min(min, fewerCopies)) }, () => build(body))
      const last = copies.at(-1)!
      // Any of the iterations may be the empty one.
      if (isLong && last.canBeEmpty) throw new Verdict('endless')
      connect(last, last)
      const whole = copies.reduce(joined, empty)
      return min === 0 ? { ...whole, canBeEmpty: true } : whole
    }
    const needed = isLong ? Math.min(min, fewerCopies) : min
    const optional = isLong ? Math.min(max - min, fewerCopies) : max - min
    // From the end: an optional copy occurs only if the copy before it does.
    let whole = empty
    for (let i = 0; i < optional; i++) whole = { ...joined(build(body), whole), canBeEmpty: true }
    for (let i = 0; i < needed; i++) whole = joined(build(body), whole)
    return whole
  }

  build(tree)
  return { sources, next }
}

/** Whether two states can match the same character, tried with characters that distinguish the states of this pattern. */
type Overlap = (p: number, q: number) => boolean

function overlapOf(sources: readonly string[], flags: string, budget: PatternBudget): Overlap {
  const characters = [...new Set([...sampleCharacters, ...sources.flatMap(charactersIn)])]
  const kinds = [...new Set(sources)]
  spend(budget, kinds.length * (characters.length + kinds.length))
  const matches = kinds.map((source) => {
    const expression = new RegExp(`^(?:${source})$`, flags)
    return BigInt(`0b${characters.map((character) => (expression.test(character) ? 1 : 0)).join('')}`)
  })
  const overlaps = matches.map((some) => matches.map((others) => (some & others) !== 0n))
  const numbers = new Map(kinds.map((source, i) => [source, i]))
  const kindOf = sources.map((source) => numbers.get(source)!)
  return (p, q) => overlaps[kindOf[p]!]![kindOf[q]!]!
}

const sampleCharacters = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...'\xa0éßΩяא中あ\u2028😀',
]

/** The literal and the escaped characters of a class. Where two ranges overlap, an end of one lies in the other. */
function charactersIn(source: string): string[] {
  const escapes = source.matchAll(/\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/gi)
  const codes = Array.from(escapes, ([, long, short, byte]) => Number.parseInt(long ?? short ?? byte ?? '0', 16))
  return [...source, ...codes.filter((code) => code <= 0x10ffff).map((code) => String.fromCodePoint(code))]
}

/**
 * Follows two matches of one text that separate inside a loop. If they meet again, the text has two ways, and since both
 * are in one loop, it can repeat.
 */
function isAmbiguous({ next }: Automaton, overlap: Overlap, budget: PatternBudget): boolean {
  const loop = loopsOf(next, budget)
  const inLoop = next.map((states, p) => [...states.keys()].filter((q) => loop[q] === loop[p]))
  if (next.some((states, p) => inLoop[p]!.some((q) => states.get(q)! > 1))) return true
  const seen = new Set<number>()
  const waiting: [number, number][] = []
  /** True when the two meet. */
  const step = (p: number, q: number): boolean => {
    spend(budget, inLoop[p]!.length * inLoop[q]!.length)
    for (const p2 of inLoop[p]!)
      for (const q2 of inLoop[q]!) {
        if (p2 === q2) {
          if (p !== q) return true
          continue
        }
        const pair = Math.min(p2, q2) * next.length + Math.max(p2, q2)
        if (!overlap(p2, q2) || seen.has(pair)) continue
        seen.add(pair)
        waiting.push([p2, q2])
      }
    return false
  }
  for (const p of next.keys()) step(p, p)
  for (let pair = waiting.pop(); pair; pair = waiting.pop()) if (step(...pair)) return true
  return false
}

/** A number for each state; equal for states that can reach one another (strongly connected components). */
function loopsOf(next: Automaton['next'], budget: PatternBudget): number[] {
  const before = next.map((): number[] => [])
  for (const [p, states] of next.entries()) for (const q of states.keys()) before[q]!.push(p)
  const order: number[] = []
  walk(
    next.keys(),
    (p) => [...next[p]!.keys()],
    budget,
    (p) => order.push(p),
  )
  const loop = new Array<number>(next.length).fill(-1)
  const found = new Set<number>()
  for (const start of order.reverse()) {
    if (found.has(start)) continue
    walk(
      [start],
      (p) => before[p]!.filter((q) => !found.has(q)),
      budget,
      (p) => {
        found.add(p)
        loop[p] = start
      },
    )
  }
  return loop
}

/** A depth-first walk without recursion; calls `onLeave` for each state after all its successors. */
function walk(
  starts: Iterable<number>,
  after: (state: number) => readonly number[],
  budget: PatternBudget,
  onLeave: (state: number) => void,
): void {
  const seen = new Set<number>()
  for (const start of starts) {
    if (seen.has(start)) continue
    seen.add(start)
    const path = [{ state: start, rest: [...after(start)] }]
    for (let top = path.at(-1); top; top = path.at(-1)) {
      spend(budget, 1)
      const state = top.rest.pop()
      if (state === undefined) {
        onLeave(top.state)
        path.pop()
      } else if (!seen.has(state)) {
        seen.add(state)
        path.push({ state, rest: [...after(state)] })
      }
    }
  }
}
