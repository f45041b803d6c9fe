import { byName, type LazyToolEntry } from './lazy-tool.ts'
import { namesOf, rank } from './rank.ts'
import type { Found } from './search-results.ts'
import type { ToolSearchInput } from './tool-search.ts'

/** What of a catalogue somebody asks for: by name, by words, by server. */
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

/** In other letters only where nothing has the very name. */
function ofServer(asked: string, catalog: readonly LazyToolEntry[]): readonly LazyToolEntry[] {
  const exact = catalog.filter(({ server }) => server === asked)
  return exact.length > 0 ? exact : catalog.filter(({ server }) => server.toLowerCase() === asked.toLowerCase())
}

/** The same for the name of a tool. */
function called(name: string, entries: readonly LazyToolEntry[]): LazyToolEntry[] {
  const exact = entries.filter((entry) => namesOf(entry).includes(name))
  if (exact.length > 0) return exact
  const asked = name.toLowerCase()
  return entries.filter((entry) => namesOf(entry).some((one) => one.toLowerCase() === asked))
}
