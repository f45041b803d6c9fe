import type { Log } from '../../core/log.ts'
import type { ToolContext, ToolDef } from '../../core/tool.ts'
import { byName, type LazyToolEntry, toolSearchName } from './lazy-tool.ts'
import { namesOf, rank } from './rank.ts'
import { resultsText } from './search-results.ts'

export interface ToolSearchOptions {
  /** What can be found. Default: the tools that the run it is called in holds back. */
  readonly catalog?: readonly LazyToolEntry[]
  /** Gets the canonical names of what was found; the run it is called in learns of them in any case. */
  readonly unlocked?: Set<string>
  /** Where the model gives no limit. Default: `behavior.toolSearch.limit`, else 20. Never more than 50. */
  readonly defaultLimit?: number
  /** Default `tool_search`. */
  readonly name?: string
}

interface ToolSearchInput {
  readonly names?: readonly unknown[]
  readonly query?: string
  readonly server?: string
  readonly limit?: number
}

/** The tool by which a model finds tools that it is not shown. What it finds can be used until the run ends. */
export function createToolSearchTool(options: ToolSearchOptions = {}): ToolDef<ToolSearchInput> {
  function execute(input: ToolSearchInput, ctx: ToolContext): { output: string; details: unknown } {
    const here = disclosures.get(ctx.log)?.get(ctx.runId)
    const catalog = options.catalog ?? here?.catalog ?? []
    const limit = options.defaultLimit ?? ctx.behavior.toolSearch?.limit ?? 20
    const isLoaded = (name: string): boolean => here?.unlocked.has(name) || options.unlocked?.has(name) || false
    const found = search(input, catalog, limit, isLoaded)
    const unlocked = found.tools.map(({ canonicalName }) => canonicalName)
    for (const name of unlocked) {
      options.unlocked?.add(name)
      here?.unlocked.add(name)
    }
    return { output: resultsText(found, catalog), details: { unlocked } }
  }
  made.add(execute)
  return {
    spec: { name: options.name ?? toolSearchName, description, inputSchema },
    isConcurrencySafe: true,
    replay: 'pure',
    effects: [],
    gated: false,
    timeoutMs: 5000,
    deriveApprovalKey: () => toolSearchName,
    execute,
  }
}

const description =
  'Loads tools that are not in your list yet, such as those in <searchable_tools>, and shows their input schemas. What it finds can be called from your next turn on. Give names if you know them, else words to look for.'

const inputSchema = {
  type: 'object',
  properties: {
    names: { type: 'array', items: { type: 'string' }, description: 'Load these.' },
    query: { type: 'string', description: 'Words of the name or description.' },
    server: { type: 'string', description: 'Only tools of this server; alone, all of them.' },
    limit: { type: 'integer', description: 'At most so many, up to 50.' },
  },
}

/** What a run holds back, and what of it the model has found. */
export interface Disclosed {
  readonly catalog: readonly LazyToolEntry[]
  readonly unlocked: Set<string>
}

/** By log and run, which a tool is told of: so one tool serves every run that it is called in. */
const disclosures = new WeakMap<Log, Map<string, Disclosed>>()

/** Lets the search tools of a run know what there is to be found. Returns how to end that. */
export function offerSearch(log: Log, runId: string, disclosed: Disclosed): () => void {
  const runs = disclosures.get(log) ?? new Map<string, Disclosed>()
  disclosures.set(log, runs.set(runId, disclosed))
  return () => void runs.delete(runId)
}

const made = new WeakSet<ToolDef['execute']>()

/** Whether a tool came from `createToolSearchTool`, whatever it is called by now. */
export const isToolSearch = ({ execute }: ToolDef): boolean => made.has(execute)

function search(
  { names = [], query = '', server, limit }: ToolSearchInput,
  catalog: readonly LazyToolEntry[],
  defaultLimit: number,
  isLoaded: (name: string) => boolean,
): Parameters<typeof resultsText>[0] {
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
