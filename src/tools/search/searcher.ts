import { codeOf } from '../../core/errors.ts'
import type { ExecutionHandle } from '../../core/execution.ts'
import type { ToolContext } from '../../core/tool.ts'
import { withFile } from '../../platform/files-of.ts'
import { fileProblem } from '../file-problem.ts'
import type { SearchQuery, SearchResult, SearchRoot } from './query.ts'

export interface SearcherOptions {
  /** The program to search with; `false` for none. Default: the one of `@vscode/ripgrep`, or `rg` on the PATH. */
  readonly ripgrep?: string | false
}

/** Finds the best way to search in a context, and remembers it. */
export type Searcher = (query: SearchQuery, place: SearchRoot, ctx: ToolContext) => Promise<SearchResult>

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
      return (await startSearch({ query, root: place }, ctx.signal)).result
    }
    const { searchThroughContext } = await import('./context-search.ts')
    return searchThroughContext(query, place, ctx)
  }
}

/** Ripgrep searches a file that is named to it as text of a sort; here binary files are not searched, named or not. */
async function isBinary({ path }: SearchRoot, ctx: ToolContext): Promise<boolean> {
  const { isUtf16 } = await import('./file-text.ts')
  try {
    const head = Buffer.from(await withFile(ctx, path, ({ read }) => read(0, 65_536)))
    return head.includes(0) && !isUtf16(head)
  } catch {
    return false // whoever searches it will tell why it cannot be read
  }
}

/** Where a path really leads. Contexts refuse here what lies outside of the folders that tools may use. */
export async function resolveRoot(path: string, ctx: ToolContext): Promise<SearchRoot> {
  try {
    return await resolve(path, ctx)
  } catch (error) {
    throw await fileProblem(error, path, ctx)
  }
}

/** A folder below a place; nothing when there is none. */
export async function resolveFolder(path: string, ctx: ToolContext): Promise<SearchRoot | undefined> {
  try {
    const place = await resolve(path, ctx)
    return place.kind === 'folder' ? place : undefined
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
  const absolute = absoluteOf(handle.cwd, path)
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

/** Paths of other worlds are POSIX paths, whatever this machine is. */
function absoluteOf(cwd: string, path: string): string {
  const parts: string[] = []
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** A path below another one, as it is shown and used. */
export function joinPath(path: string, way: string): string {
  if (way === '') return path
  if (path === '.' || path === './') return way
  return path.endsWith('/') ? path + way : `${path}/${way}`
}
