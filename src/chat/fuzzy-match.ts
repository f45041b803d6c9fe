/**
 * How well the letters of a query appear in a text, in their order and ignoring case; undefined if they do not. Letters that
 * follow each other, begin a word or belong to the last part of a path count more; a text that begins with the query is best.
 */
export function fuzzyScore(query: string, text: string): number | undefined {
  return scoreOf(query.toLowerCase(), text, text.toLowerCase())
}

/** Texts in a form that many queries can be matched against. */
export interface FuzzyIndex<Item> {
  /** The best items, best first; with an empty query the first ones, in their own order. */
  best(query: string, limit: number): readonly Item[]
}

export function fuzzyIndex<Item>(items: readonly Item[], textOf: (item: Item) => string): FuzzyIndex<Item> {
  const texts = items.map(textOf)
  const lower = texts.map((text) => text.toLowerCase())
  const letters = Int32Array.from(lower, lettersOf)
  return {
    best(query, limit) {
      const wanted = query.toLowerCase()
      if (wanted === '') return items.slice(0, limit)
      const mask = lettersOf(wanted)
      const top = new Best(limit)
      for (let i = 0; i < lower.length; i++) {
        if ((letters[i]! & mask) !== mask) continue // most texts lack a letter
        const score = scoreOf(wanted, texts[i]!, lower[i]!)
        if (score !== undefined) top.add(i, score)
      }
      return top.indexes.map((i) => items[i]!)
    },
  }
}

/** A bit for each kind of letter in a text. */
function lettersOf(text: string): number {
  let bits = 0
  for (let i = 0; i < text.length; i++) bits |= 1 << (text.charCodeAt(i) & 31)
  return bits
}

/** The indexes with the highest scores. Of equal ones the first stays first. */
class Best {
  readonly indexes: number[] = []
  readonly #scores: number[] = []
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  add(index: number, score: number): void {
    const scores = this.#scores
    if (scores.length === this.#limit && score <= scores.at(-1)!) return
    let at = scores.length
    while (at > 0 && scores[at - 1]! < score) at--
    scores.splice(at, 0, score)
    this.indexes.splice(at, 0, index)
    if (scores.length <= this.#limit) return
    scores.pop()
    this.indexes.pop()
  }
}

const wholeText = 10_000
const prefixBonus = 5000
const nameBonus = 400

function scoreOf(query: string, text: string, lower: string): number | undefined {
  if (query === '') return 0
  // Characters whose lower case has another length leave no positions to compare.
  const shown = text.length === lower.length ? text : lower
  if (lower.startsWith(query)) return wholeText + prefixBonus - Math.min(lower.length, prefixBonus)
  const nameAt = lower.lastIndexOf('/', lower.length - 2) + 1
  const whole = lower.lastIndexOf(query)
  const together =
    whole < 0 ? undefined : startScore(shown, whole, nameAt) + query.length * 30 + (whole === nameAt ? nameBonus : 0)
  const apart = backwards(query, shown, lower, nameAt)
  if (apart === undefined) return undefined
  return Math.max(together ?? 0, apart) - Math.min(lower.length, 200) / 10
}

/** Matches from the end, so that the name of a file counts before its folders. */
function backwards(query: string, text: string, lower: string, nameAt: number): number | undefined {
  let score = 1
  let end = lower.length
  let next = -1
  for (let i = query.length - 1; i >= 0; i--) {
    const at = lower.lastIndexOf(query[i]!, end - 1)
    if (at < 0 || end === 0) return undefined
    score += at + 1 === next ? 20 : startScore(text, at, nameAt)
    next = at
    end = at
  }
  return score
}

/** What a letter counts by its place. */
function startScore(text: string, at: number, nameAt: number): number {
  return (isWordStart(text, at) ? 12 : 2) + (at >= nameAt ? 6 : 0)
}

function isWordStart(text: string, at: number): boolean {
  if (at === 0) return true
  const before = text.charCodeAt(at - 1)
  const isLetter = (before >= 97 && before <= 122) || (before >= 65 && before <= 90) || (before >= 48 && before <= 57)
  if (!isLetter) return true
  const here = text.charCodeAt(at)
  return here >= 65 && here <= 90 && before >= 97 // camelCase
}
