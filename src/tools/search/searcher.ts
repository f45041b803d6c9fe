import type { ExecutionHandle } from '../../core/execution.ts'
import type { ToolContext } from '../../core/tool.ts'
import { withFile } from '../../platform/files-of.ts'
import type { SearchPlace, SearchQuery, SearchResult } from './query.ts'

export interface SearcherOptions {
  /** The program to search with; `false` for none. Default: the one of `@vscode/ripgrep`, or `rg` on the PATH. */
  readonly ripgrep?: string | false
}

/** Finds the best way to search in a context, and remembers it. */
export type Searcher = (query: SearchQuery, place: SearchPlace, ctx: ToolContext) => Promise<SearchResult>

export function createSearcher({ ripgrep }: SearcherOptions = {}): Searcher {
  /** Of each handle the programs that may be there. */
  const programs = new WeakMap<ExecutionHandle, string[]>()

  const withRipgrep: (...search: Parameters<Searcher>) => Promise<SearchResult | undefined> = async (
    query,
    place,
    ctx,
  ) => {
    if (ripgrep === false || !ctx.execution.capabilities.shell) return undefined
    const { ripgrepPrograms, searchWithRipgrep } = await import('./ripgrep.ts')
    let left = programs.get(ctx.handle) ?? (ripgrep === undefined ? await ripgrepPrograms(ctx) : [ripgrep])
    for (; left.length > 0; left = left.slice(1)) {
      const result = await searchWithRipgrep(left[0]!, query, place, ctx)
      programs.set(ctx.handle, result ? left : left.slice(1))
      if (result) return result
    }
    return undefined
  }

  return async (query, place, ctx) => {
    if (place.kind === 'file' && (await isBinary(place, ctx)))
      return { entries: [], total: 0, sum: 0, gaps: { binary: true } }
    const found = await withRipgrep(query, place, ctx)
    if (found) return found
    if (ctx.execution.capabilities.hostPrograms) {
      const { startSearch } = await import('./start-search.ts')
      return (await startSearch({ query, place }, ctx.signal)).result
    }
    const { searchWorld } = await import('./world.ts')
    return searchWorld(query, place, ctx)
  }
}

/** Ripgrep searches a file that is named to it as text of a sort; here binary files are not searched, named or not. */
async function isBinary({ path }: SearchPlace, ctx: ToolContext): Promise<boolean> {
  const { isUtf16 } = await import('./file-text.ts')
  try {
    const head = Buffer.from(await withFile(ctx, path, ({ read }) => read(0, 65_536)))
    return head.includes(0) && !isUtf16(head)
  } catch {
    return false // whoever searches it will tell why it cannot be read
  }
}
