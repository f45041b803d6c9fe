import type { ToolContext } from '../../core/tool.ts'
import { createPager } from './pager.ts'
import { pathFilter } from './path-filter.ts'
import type { SearchGaps, SearchPlace, SearchQuery, SearchResult } from './query.ts'
import { startSearch } from './start-search.ts'
import { typeFilter } from './type-filter.ts'
import { type Folders, foldersByFind, foldersByListing, walkWorld } from './world-walk.ts'

/** How much is looked at where each file costs a request. */
export interface WorldLimits {
  readonly listed: number
  readonly read: number
  /** Of one file. */
  readonly bytes: number
}

export const worldLimits: WorldLimits = { listed: 100_000, read: 2000, bytes: 8 * 1024 * 1024 }

const atOnce = 8

type Counted = { -readonly [Key in keyof SearchGaps]: SearchGaps[Key] }

/** Searches where there is no ripgrep and no direct way to the files: through the verbs that every context has. */
export async function searchWorld(
  query: SearchQuery,
  place: SearchPlace,
  ctx: ToolContext,
  limits: WorldLimits = worldLimits,
): Promise<SearchResult> {
  const gaps: Counted = {}
  const files = place.kind === 'file' ? [''] : await filesOf(query, place, ctx, { limits, gaps })
  if (query.mode === 'list') return listed(query, files, gaps)
  const thread = await startSearch({ query }, ctx.signal)
  // Should the thread fail, that is told at the end; until then nobody listens.
  thread.result.catch(() => {})
  await sendTexts(files)
  thread.finish(gaps)
  return thread.result

  async function sendTexts(paths: readonly string[]): Promise<void> {
    const until = performance.now() + query.limitMs
    const some = paths.slice(0, limits.read)
    if (some.length < paths.length) gaps.stopped = 'files'
    for (let at = 0; at < some.length; at += atOnce) {
      ctx.signal.throwIfAborted()
      if (performance.now() > until) return void (gaps.stopped = 'time')
      const batch = some.slice(at, at + atOnce)
      const read = await Promise.all(batch.map((path) => textOf(path === '' ? place.path : `${place.path}/${path}`)))
      for (const [i, text] of read.entries()) if (text !== undefined) thread.addText(batch[i]!, text)
    }
  }

  async function textOf(path: string): Promise<string | undefined> {
    try {
      return await ctx.execution.readFile(ctx.handle, path)
    } catch {
      gaps.unreadable = (gaps.unreadable ?? 0) + 1
      return undefined
    }
  }
}

function listed(query: SearchQuery, files: readonly string[], gaps: SearchGaps): SearchResult {
  const page = createPager(query)
  for (const path of files) page.add({ path })
  return page.result(gaps)
}

interface Bounds {
  readonly limits: WorldLimits
  readonly gaps: Counted
}

/** All files that are meant, in order. */
async function filesOf(query: SearchQuery, place: SearchPlace, ctx: ToolContext, bounds: Bounds): Promise<string[]> {
  const { limits, gaps } = bounds
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  const mostBytes = query.mode === 'list' ? undefined : limits.bytes
  const folders: Folders = (await foldersByFind(place, ctx, mostBytes)) ?? foldersByListing(place, ctx)
  const files: string[] = []
  let listed = 0
  const walk = walkWorld({ place, ctx, folders, depth: query.filter.depth, entersFolder })
  for await (const { path, name } of walk) {
    if (++listed > limits.listed) {
      gaps.stopped = 'files'
      break
    }
    if (!hasType(name) || !acceptsFile(path)) continue
    if (folders.isTooLarge(path)) gaps.tooLarge = (gaps.tooLarge ?? 0) + 1
    else files.push(path)
  }
  return files
}
