import type { Log } from '../../core/log.ts'
import type { ToolContext, ToolDef } from '../../core/tool.ts'
import { type LazyToolEntry, toolSearchName } from './lazy-tool.ts'

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

/** What the model asks for. */
export interface ToolSearchInput {
  readonly names?: readonly unknown[]
  readonly query?: string
  readonly server?: string
  readonly limit?: number
}

/** The tool by which a model finds tools that it is not shown. What it finds can be used until the run ends. */
export function createToolSearchTool(options: ToolSearchOptions = {}): ToolDef<ToolSearchInput> {
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
