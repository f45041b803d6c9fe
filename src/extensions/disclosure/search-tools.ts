import { memoize } from '../../core/memoize.ts'
import { didYouMean } from '../../core/nearest.ts'
import { toolOutputByteLength } from '../../core/tool-output.ts'
import { byName, escapeXml, foreignText, type LazyToolEntry, serversOf } from './lazy-tool.ts'
import type { ToolSearchInput } from './tool-search.ts'

/** Searches a catalogue: by names, by words, by server. */
export function searchTools(
  { names = [], query = '', server, limit }: ToolSearchInput,
  catalog: readonly LazyToolEntry[],
  defaultLimit: number,
  isLoaded: (name: string) => boolean,
): Found {
  const wanted = names.slice(0, mostResults).map(String)
  const most = Math.min(mostResults, Math.max(1, limit ?? Math.max(defaultLimit, wanted.length)))
  const inScope = server === undefined || server === '' ? catalog : ofServer(server, catalog)
  const asked = wanted.map((name) => {
    const entries = called(name, inScope)
    return { name, entries: entries.length > 0 ? entries : called(name, catalog) }
  })
  const missing = asked.filter(({ entries }) => entries.length === 0).map(({ name }) => name)
  const isListing = wanted.length === 0 && query.trim() === '' && inScope !== catalog
  const others = isListing ? inScope.toSorted(byName) : rank(query, inScope)
  const all = [...new Set([...asked.flatMap(({ entries }) => entries), ...others])]
  return {
    tools: all.slice(0, most),
    total: all.length,
    known: missing.filter(isLoaded),
    unknown: missing.filter((name) => !isLoaded(name)),
    ...(server && inScope.length === 0 && { unknownServer: server }),
  }
}

const mostResults = 50

/** Ignores case only if there is no exact match. */
function ofServer(asked: string, catalog: readonly LazyToolEntry[]): readonly LazyToolEntry[] {
  const exact = catalog.filter(({ server }) => server === asked)
  return exact.length > 0 ? exact : catalog.filter(({ server }) => server.toLowerCase() === asked.toLowerCase())
}

/** The same for tool names. */
function called(name: string, entries: readonly LazyToolEntry[]): LazyToolEntry[] {
  const exact = entries.filter((entry) => namesOf(entry).includes(name))
  if (exact.length > 0) return exact
  const asked = name.toLowerCase()
  return entries.filter((entry) => namesOf(entry).some((one) => one.toLowerCase() === asked))
}

/**
 * The tools that match a query, best first: with exactly that name; with name words that begin with its words; with all
 * its words in the name; containing the query itself; with most of its words in name or description. Within each group,
 * rare words count more; ties are sorted by name.
 */
export function rank(query: string, entries: readonly LazyToolEntry[]): LazyToolEntry[] {
  const asked = query.slice(0, longestQuery).trim().toLowerCase()
  const words = queryWords(query.slice(0, longestQuery))
  if (asked === '') return []
  const indexed = entries.map((entry) => ({ entry, index: indexOf(entry) }))
  const weights = new Map(words.map((word) => [word, rarity(word, indexed)]))
  return indexed
    .map(({ entry, index }) => ({ entry, ...scoreOf(asked, weights, index) }))
    .filter(({ tier }) => tier < none)
    .sort((a, b) => a.tier - b.tier || b.score - a.score || byName(a.entry, b.entry))
    .map(({ entry }) => entry)
}

const longestQuery = 400
const mostWords = 20

/** Single letters count only if there are no longer words. */
function queryWords(query: string): string[] {
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

/** All names of a tool. */
export function namesOf({ name, canonicalName, tool = canonicalName }: LazyToolEntry): string[] {
  return [...new Set([name, canonicalName, tool])]
}

/** `listPullRequests` and `list_pull_requests` have the same words; singular and plural match. */
const wordsOf = (text: string): string[] =>
  (
    text
      .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).map((word) => (word.length > 3 ? word.replace(/s$/, '') : word))

/** A word that every tool has counts least. */
function rarity(word: string, all: readonly { index: Index }[]): number {
  const found = all.filter(({ index }) => matchOf(word, index) > 0).length
  return Math.log(1 + all.length / (1 + found))
}

/** How well a word matches. A short one counts only as a word or as the beginning of one. */
function matchOf(word: string, { names, nameWords, described, describedWords }: Index): number {
  if (nameWords.includes(word)) return 4
  if (nameWords.some((one) => one.startsWith(word))) return 3
  const isLong = word.length > 2
  if (isLong && names.some((name) => name.includes(word))) return 2
  if (describedWords.has(word)) return 1.5
  return isLong && described.includes(word) ? 1 : 0
}

/** The tier of tools that do not match. */
const none = 5

function scoreOf(asked: string, weights: ReadonlyMap<string, number>, index: Index): { tier: number; score: number } {
  let score = 0
  let found = 0
  let all = 0
  let least = weights.size > 0 ? 4 : 0
  for (const [word, weight] of weights) {
    const match = matchOf(word, index)
    score += weight * match
    found += match > 0 ? weight : 0
    all += weight
    least = Math.min(least, match)
  }
  if (index.names.includes(asked)) return { tier: 0, score }
  if (least >= 3) return { tier: 1, score }
  if (least >= 2) return { tier: 2, score }
  const isPart = index.described.includes(asked) || index.names.some((name) => name.includes(asked))
  if (isPart) return { tier: 3, score }
  return { tier: found > 0 && found >= all / 2 ? 4 : none, score }
}

export interface Found {
  /** The tools that are loaded now. */
  readonly tools: readonly LazyToolEntry[]
  /** The number of matches without the limit. */
  readonly total: number
  /** Requested names that are already loaded. */
  readonly known: readonly string[]
  /** Requested names that do not exist. */
  readonly unknown: readonly string[]
  /** A requested server that does not exist. */
  readonly unknownServer?: string
}

/** The result for the model: each tool with its schema. Text of a server cannot close a tag. */
export function resultsText(found: Found, catalog: readonly LazyToolEntry[]): string {
  const { tools, total, known, unknown, unknownServer } = found
  const room = { left: mostSchemaBytes }
  const lines = tools.map((entry) => toolText(entry, room))
  for (const name of known) lines.push(`${foreignText(name, 100)} is loaded already: call it.`)
  const names = unknown.length > 0 ? catalog.slice(0, mostCompared).flatMap(namesOf) : []
  for (const [i, name] of unknown.entries()) {
    const near = i < mostHints ? hint(name, names) : '.'
    lines.push(`There is no tool ${foreignText(name, 100)}${near}`)
  }
  if (unknownServer !== undefined) {
    const servers = catalog.map(({ server }) => server)
    lines.push(`There is no server ${foreignText(unknownServer, 100)}${hint(unknownServer, servers)}`)
  }
  if (total > tools.length)
    lines.push(`${total - tools.length} more fit. Ask more precisely, or by name, or with a higher limit.`)
  if (tools.length > 0) lines.push('These can be called from your next turn on, until this run ends.')
  else lines.push(known.length > 0 ? 'Nothing else was found.' : nothing(catalog))
  return ['<tool_search_results>', ...lines, '</tool_search_results>'].join('\n')
}

/** Of a long list some schemas are left out here: the request shows them all. */
const mostSchemaBytes = 65_536

function toolText({ name, description, inputSchema }: LazyToolEntry, room: { left: number }): string {
  const schema = JSON.stringify(inputSchema).replaceAll('<', '\\u003c')
  const bytes = toolOutputByteLength(schema)
  const isShown = bytes <= room.left
  if (isShown) room.left -= bytes
  return [
    '<tool>',
    `<name>${foreignText(name, 200)}</name>`,
    `<description>${foreignText(description, 4000)}</description>`,
    isShown ? `<input_schema>${schema}</input_schema>` : 'Its input schema is long: read it in your list of tools.',
    '</tool>',
  ].join('\n')
}

const hint = (name: string, names: readonly string[]): string => escapeXml(didYouMean(name, new Set(names))) || '.'

/** Limits the cost of comparing names. */
const mostHints = 5
const mostCompared = 1000

function nothing(catalog: readonly LazyToolEntry[]): string {
  if (catalog.length === 0) return 'There is nothing to find: every tool of this run is loaded.'
  const count = catalog.length === 1 ? 'There is one tool' : `There are ${catalog.length} tools`
  return `Nothing was found. ${count} to find, by server: ${foreignText(serversOf(catalog), 4000)}.`
}
