import type { Log } from '../../core/log.ts'
import type { ToolContext, ToolDef } from '../../core/tool.ts'
import { type LazyToolEntry, toolSearchName } from './lazy-tool.ts'

/** The input of the search tool. */
export interface ToolSearchInput {
  readonly names?: readonly unknown[]
  readonly query?: string
  readonly server?: string
  readonly limit?: number
}

/** Creates the tool that finds held-back tools. Tools that it finds can be called until the run ends. */
export function createToolSearchTool(
  options: {
    /** The tools to search. Default: those that the calling run holds back. */
    readonly catalog?: readonly LazyToolEntry[]
    /** Receives the canonical names of the tools that were found; the calling run gets them in any case. */
    readonly unlocked?: Set<string>
    /** If the model gives no limit. Default: `behavior.toolSearch.limit`, else 20. At most 50. */
    readonly defaultLimit?: number
    /** Default `tool_search`. */
    readonly name?: string
  } = {},
): ToolDef {
  async function execute(input: ToolSearchInput, ctx: ToolContext): Promise<{ output: string; details: unknown }> {
    const { resultsText, searchTools } = await import('./search-tools.ts')
    const here = disclosures.get(ctx.log)?.get(ctx.runId)
    const catalog = options.catalog ?? here?.catalog ?? []
    const limit = options.defaultLimit ?? ctx.behavior.toolSearch?.limit ?? 20
    const isLoaded = (name: string): boolean => here?.unlocked.has(name) || options.unlocked?.has(name) || false
    const found = searchTools(input, catalog, limit, isLoaded)
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

/** The held-back tools of a run, and those found. */
export interface Disclosed {
  readonly catalog: readonly LazyToolEntry[]
  readonly unlocked: Set<string>
}

/** By log and run id, which are in a tool's context: so one search tool serves all runs. */
const disclosures = new WeakMap<Log, Map<string, Disclosed>>()

/** Makes held-back tools known to the search tools of a run. Returns a function that ends it. */
export function offerSearch(log: Log, runId: string, disclosed: Disclosed): () => void {
  const runs = disclosures.get(log) ?? new Map<string, Disclosed>()
  disclosures.set(log, runs.set(runId, disclosed))
  return () => void runs.delete(runId)
}

const made = new WeakSet<ToolDef['execute']>()

/** Whether `createToolSearchTool` made a tool, whatever its name. */
export const isToolSearch = ({ execute }: ToolDef): boolean => made.has(execute)
