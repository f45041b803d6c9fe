import { codeOf } from '../../core/errors.ts'
import type { ExecutionHandle } from '../../core/execution.ts'
import { resolvePosix } from '../../core/execution.ts'
import type { ToolContext } from '../../core/tool.ts'
import { withFile } from '../../platform/files-of.ts'
import { fileProblem } from '../file-problem.ts'
import type { createGlobTool } from '../glob.ts'
import type { SearchContext, SearchQuery, SearchResult, SearchRoot } from './query.ts'

export type SearcherOptions = NonNullable<Parameters<typeof createGlobTool>[0]>

/** Searches with the best available method, which is remembered per handle. */
type Searcher = (query: SearchQuery, root: SearchRoot, ctx: SearchContext) => Promise<SearchResult>

export function createSearcher({ ripgrep }: SearcherOptions = {}): Searcher {
  /** The programs to try, per handle. */
  const programs = new WeakMap<ExecutionHandle, string[]>()

  const withRipgrep: (...search: Parameters<Searcher>) => Promise<SearchResult | undefined> = async (
    query,
    root,
    ctx,
  ) => {
    if (ripgrep === false || !ctx.execution.capabilities.shell) return undefined
    const { ripgrepPrograms, searchWithRipgrep } = await import('./ripgrep.ts')
    let candidates = programs.get(ctx.handle) ?? (ripgrep === undefined ? await ripgrepPrograms(ctx) : [ripgrep])
    for (; candidates.length > 0; candidates = candidates.slice(1)) {
      const result = await searchWithRipgrep(candidates[0]!, query, root, ctx)
      programs.set(ctx.handle, result ? candidates : candidates.slice(1))
      if (result) return result
    }
    return undefined
  }

  return async (query, root, ctx) => {
    if (root.kind === 'file' && (await isBinary(root, ctx)))
      return { entries: [], total: 0, sum: 0, gaps: { binary: true } }
    const result = await withRipgrep(query, root, ctx)
    if (result) return result
    const isHere = ctx.execution.capabilities.hostPrograms === true
    const byShell = isHere && (await isConfined(ctx))
    if (isHere && !byShell) {
      const { startSearch } = await import('./start-search.ts')
      return (await startSearch({ query, root }, ctx.signal)).result
    }
    const { searchThroughContext, contextSearchLimits } = await import('./context-search.ts')
    return searchThroughContext(query, root, ctx, contextSearchLimits, { byShell })
  }
}

/** Whether commands of this machine run in a sandbox: then a search does too, so that it sees no more than they do. */
async function isConfined({ execution, handle, signal }: SearchContext): Promise<boolean> {
  if (!execution.capabilities.shell) return false
  if (execution.type !== 'process') return true
  return (await execution.exec(handle, ':', { signal })).sandbox !== undefined
}

/** Ripgrep searches a named file even if it is binary; here binary files are never searched. */
async function isBinary({ path }: SearchRoot, ctx: SearchContext): Promise<boolean> {
  const { isUtf16 } = await import('./file-text.ts')
  try {
    const head = Buffer.from(await withFile(ctx, path, ({ read }) => read(0, 65_536)))
    return head.includes(0) && !isUtf16(head)
  } catch {
    return false // the search reports why it cannot be read
  }
}

/** Resolves the path to search. Contexts refuse paths outside the allowed folders. */
export async function resolveRoot(path: string, ctx: ToolContext): Promise<SearchRoot> {
  try {
    return await resolve(path, ctx)
  } catch (error) {
    throw await fileProblem(error, path, ctx)
  }
}

/** Resolves a folder; undefined if there is none. */
export async function resolveFolder(path: string, ctx: ToolContext): Promise<SearchRoot | undefined> {
  try {
    const root = await resolve(path, ctx)
    return root.kind === 'folder' ? root : undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw await fileProblem(error, path, ctx)
  }
}

async function resolve(path: string, ctx: ToolContext): Promise<SearchRoot> {
  const { execution, handle } = ctx
  if (!execution.stat) return resolveByListing(path, ctx)
  const info = await execution.stat(handle, path)
  if (info.kind === 'other') throw new Error(`"${path}" is neither a file nor a folder, so it cannot be searched`)
  return { path: info.path, kind: info.kind }
}

async function resolveByListing(path: string, { execution, handle }: ToolContext): Promise<SearchRoot> {
  const absolute = resolvePosix(handle.cwd, path)
  try {
    await execution.listFiles(handle, absolute)
    return { path: absolute, kind: 'folder' }
  } catch (error) {
    await execution.readFile(handle, absolute).catch(() => {
      throw error
    })
    return { path: absolute, kind: 'file' }
  }
}

/** Joins paths, without a leading `./`. */
export function joinPath(path: string, relative: string): string {
  if (relative === '') return path
  if (path === '.' || path === './') return relative
  return path.endsWith('/') ? path + relative : `${path}/${relative}`
}
