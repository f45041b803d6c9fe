import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { isUtf16 } from './file-text.ts'
import { pathFilter } from './path-filter.ts'
import type { SearchGaps, SearchPlace, SearchQuery, SearchResult } from './query.ts'
import { createTextSearch, typeFilter } from './text-search.ts'
import { walk } from './walk.ts'

export interface TreeLimits {
  /** Files looked at. */
  readonly files: number
  /** Of one file. */
  readonly bytes: number
}

export const treeLimits: TreeLimits = { files: 1_000_000, bytes: 64 * 1024 * 1024 }

type Counted = { -readonly [Key in keyof SearchGaps]: SearchGaps[Key] }

/** Searches a folder or a file of this machine without ripgrep. Everything in it waits: it belongs into a thread of its own. */
export function searchTree(query: SearchQuery, place: SearchPlace, limits: TreeLimits = treeLimits): SearchResult {
  const search = createTextSearch(query)
  const gaps: Counted = {}
  const read = createReader(limits.bytes, gaps)
  if (place.kind === 'file') {
    const bytes = read(place.path)
    if (bytes?.includes(0) && !isUtf16(bytes)) gaps.binary = true
    else if (bytes) search.addFile('', bytes)
    return search.result(gaps)
  }
  const until = performance.now() + query.limitMs
  const { acceptsFile, entersFolder } = pathFilter(query.filter)
  const hasType = typeFilter(query.type)
  let files = 0
  walk({
    root: place.path,
    depth: query.filter.depth,
    entersFolder,
    onUnreadable: () => countUnreadable(gaps),
    onFile(path, name) {
      if (++files > limits.files) gaps.stopped = 'files'
      else if (performance.now() > until) gaps.stopped = 'time'
      if (gaps.stopped) return false
      if (!hasType(name) || !acceptsFile(path)) return true
      if (query.mode === 'list') search.addPath(path)
      else {
        const bytes = read(`${place.path === '/' ? '' : place.path}/${path}`)
        if (bytes) search.addFile(path, bytes)
      }
      return true
    },
  })
  return search.result(gaps)
}

function countUnreadable(gaps: Counted): void {
  gaps.unreadable = (gaps.unreadable ?? 0) + 1
}

/** Most files fit into one buffer that is used again and again: what is returned holds until the next file is read. */
function createReader(mostBytes: number, gaps: Counted): (path: string) => Buffer | undefined {
  const shared = Buffer.allocUnsafe(256 * 1024)
  // Should a file have become a link or a pipe since it was listed, it is not followed and not waited for.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

  function readRest(file: number, read: number): Buffer | undefined {
    const { size } = fstatSync(file)
    if (size > mostBytes) {
      gaps.tooLarge = (gaps.tooLarge ?? 0) + 1
      return undefined
    }
    const whole = Buffer.allocUnsafe(Math.max(size, read) + 1)
    shared.copy(whole, 0, 0, read)
    let length = read
    while (length < whole.length) {
      const more = readSync(file, whole, length, whole.length - length, null)
      if (more === 0) break
      length += more
    }
    return whole.subarray(0, Math.min(length, whole.length))
  }

  return (path) => {
    let file: number | undefined
    try {
      file = openSync(path, flags)
      const length = readSync(file, shared, 0, shared.length, null)
      return length < shared.length ? shared.subarray(0, length) : readRest(file, length)
    } catch {
      countUnreadable(gaps)
      return undefined
    } finally {
      if (file !== undefined) closeSync(file)
    }
  }
}
