import { memoize } from '../../core/memoize.ts'
import { byName, type LazyToolEntry } from './lazy-tool.ts'

/**
 * The tools that a query may mean, best first: that very name; names with words that begin so; names that hold every
 * word; what has the query as it stands; then whatever has most of its words in name or description. Within each, rare
 * words count more; ties by name.
 */
export function rank(query: string, entries: readonly LazyToolEntry[]): LazyToolEntry[] {
  const asked = query.slice(0, longestQuery).trim().toLowerCase()
  const words = tellingWords(query.slice(0, longestQuery))
  if (asked === '') return []
  const indexed = entries.map((entry) => ({ entry, index: indexOf(entry) }))
  const weights = new Map(words.map((word) => [word, rarity(word, indexed)]))
  return indexed
    .map(({ entry, index }) => ({ entry, ...judge(asked, weights, index) }))
    .filter(({ tier }) => tier < none)
    .sort((a, b) => a.tier - b.tier || b.score - a.score || byName(a.entry, b.entry))
    .map(({ entry }) => entry)
}

const longestQuery = 400
const mostWords = 20

/** A single letter tells something only where it stands alone. */
function tellingWords(query: string): string[] {
  const words = [...new Set(wordsOf(query))].slice(0, mostWords)
  const longer = words.filter((word) => word.length > 1)
  return longer.length > 0 ? longer : words
}

interface Index {
  readonly names: readonly string[]
  readonly nameWords: readonly string[]
  readonly described: string
  readonly describedWords: ReadonlySet<string>
}

const indexOf = memoize((entry: LazyToolEntry): Index => {
  const names = namesOf(entry).map((name) => name.slice(0, 200))
  const described = entry.description.slice(0, 2000)
  return {
    names: names.map((name) => name.toLowerCase()),
    nameWords: [...new Set(names.flatMap(wordsOf))],
    described: described.toLowerCase(),
    describedWords: new Set(wordsOf(described)),
  }
})

/** All that a tool may be called by. */
export function namesOf({ name, canonicalName, tool = canonicalName }: LazyToolEntry): string[] {
  return [...new Set([name, canonicalName, tool])]
}

/** `listPullRequests` and `list_pull_requests` have the same words, and one request is found as several. */
const wordsOf = (text: string): string[] =>
  (
    text
      .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))

/** A word that every tool has tells nothing. */
function rarity(word: string, all: readonly { index: Index }[]): number {
  const found = all.filter(({ index }) => weigh(word, index) > 0).length
  return Math.log(1 + all.length / (1 + found))
}

/** How well one word fits. A short one is in every text: it counts as a word, or as the beginning of one. */
function weigh(word: string, { names, nameWords, described, describedWords }: Index): number {
  if (nameWords.includes(word)) return 4
  if (nameWords.some((one) => one.startsWith(word))) return 3
  const isLong = word.length > 2
  if (isLong && names.some((name) => name.includes(word))) return 2
  if (describedWords.has(word)) return 1.5
  return isLong && described.includes(word) ? 1 : 0
}

const none = 5

function judge(asked: string, weights: ReadonlyMap<string, number>, index: Index): { tier: number; score: number } {
  let score = 0
  let found = 0
  let all = 0
  let least = weights.size > 0 ? 4 : 0
  for (const [word, weight] of weights) {
    const fit = weigh(word, index)
    score += weight * fit
    found += fit > 0 ? weight : 0
    all += weight
    least = Math.min(least, fit)
  }
  if (index.names.includes(asked)) return { tier: 0, score }
  if (least >= 3) return { tier: 1, score }
  if (least >= 2) return { tier: 2, score }
  const isPart = index.described.includes(asked) || index.names.some((name) => name.includes(asked))
  if (isPart) return { tier: 3, score }
  return { tier: found > 0 && found >= all / 2 ? 4 : none, score }
}
