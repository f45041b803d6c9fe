import { closeSync, fstatSync, readSync } from 'node:fs'
import { isUtf16 } from './file-text.ts'
import { openRealFile } from './held-folders.ts'
import { countUnreadable, eachFile, type MutableGaps, treeLimits } from './host-files.ts'
import type { SearchQuery, SearchResult, SearchRoot } from './query.ts'
import { createTextSearch } from './text-search.ts'

/** Searches files of this machine without ripgrep. Blocks, so it must run in its own thread. */
export function searchTree(query: SearchQuery, root: SearchRoot, limits = treeLimits): SearchResult {
  const search = createTextSearch(query)
  const gaps: MutableGaps = {}
  const read = createReader(limits.bytes, gaps)
  if (root.kind === 'file') {
    const bytes = read(() => openRealFile(root.path))
    if (bytes?.includes(0) && !isUtf16(bytes)) gaps.binary = true
    else if (bytes) search.addFile('', bytes)
    return search.result(gaps)
  }
  eachFile({ query, root, limits, gaps }, (path, name, folder) => {
    const bytes = read(() => folder.file(name))
    if (bytes) search.addFile(path, bytes)
  })
  return search.result(gaps)
}

/** Most files fit into one reused buffer: the result is valid until the next file is read. */
function createReader(maxBytes: number, gaps: MutableGaps): (open: () => number) => Buffer | undefined {
  const shared = Buffer.allocUnsafe(256 * 1024)

  function readRest(file: number, read: number): Buffer | undefined {
    const { size } = fstatSync(file)
    if (size > maxBytes) {
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
    return whole.subarray(0, length)
  }

  return (open) => {
    let file: number | undefined
    try {
      file = open()
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
