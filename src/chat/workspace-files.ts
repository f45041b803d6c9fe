import type { ExecutionContext, ExecutionHandle } from '../core/execution.ts'
import { compareTexts } from '../core/text.ts'
import { everyPath } from '../tools/search/path-filter.ts'
import { createSearcher } from '../tools/search/searcher.ts'
import { type FuzzyIndex, fuzzyIndex } from './fuzzy-match.ts'

/** The files and folders of a workspace, for `@` completion. */
export interface WorkspaceFiles {
  /** What was listed last; undefined before the first list is there, which this call begins. */
  readonly index: FuzzyIndex<string> | undefined
  /** Lists them again, for instance when the terminal gets the focus. A list under way is joined. */
  refresh(): Promise<FuzzyIndex<string>>
}

/** Lists what ignore files leave in, with ripgrep where there is one. Nothing is listed before it is asked for. */
export function workspaceFiles({
  execution,
  handle,
  most = 50_000,
  limitMs = 10_000,
}: {
  readonly execution: ExecutionContext
  /** Where to look. Default: the folder of the context, opened for each list. */
  readonly handle?: () => ExecutionHandle | undefined
  /** At most so many. Default 50,000. */
  readonly most?: number
  /** Milliseconds; what was found by then is listed. Default 10,000. */
  readonly limitMs?: number
}): WorkspaceFiles {
  const search = createSearcher({ limitMs })
  let index: FuzzyIndex<string> | undefined
  let listing: Promise<FuzzyIndex<string>> | undefined

  async function list(): Promise<FuzzyIndex<string>> {
    const own = handle?.() ?? (await execution.spawn())
    try {
      const query = { ...listAll, skip: 0, take: most, limitMs }
      const signal = AbortSignal.timeout(limitMs * 2)
      const found = await search(query, { path: own.cwd, kind: 'folder' }, { execution, handle: own, signal })
      const files = found.entries.map(({ path }) => path)
      index = fuzzyIndex([...foldersOf(files), ...files].sort(byDepth), String)
      return index
    } finally {
      if (own !== handle?.()) await execution.destroy(own)
    }
  }

  const refresh = (): Promise<FuzzyIndex<string>> => {
    listing ??= list().finally(() => {
      listing = undefined
    })
    return listing
  }
  return {
    get index() {
      if (!index) refresh().catch(() => {}) // a folder that cannot be listed has no completions
      return index
    },
    refresh,
  }
}

const unused = { pattern: '', ignoreCase: false, multiline: false, before: 0, after: 0 }
const listAll = { mode: 'list', filter: everyPath, ...unused } as const

/** The folders above the files, each ended by `/`. */
function foldersOf(files: readonly string[]): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const file of files)
    for (let at = file.lastIndexOf('/'); at > 0; at = file.lastIndexOf('/', at - 1)) {
      const folder = file.slice(0, at + 1)
      if (folders.has(folder)) break
      folders.add(folder)
    }
  return folders
}

/** What lies higher comes first, as in a list without a query. */
function byDepth(a: string, b: string): number {
  return depthOf(a) - depthOf(b) || compareTexts(a, b)
}

function depthOf(path: string): number {
  let depth = 0
  for (let at = path.indexOf('/'); at >= 0 && at < path.length - 1; at = path.indexOf('/', at + 1)) depth++
  return depth
}
