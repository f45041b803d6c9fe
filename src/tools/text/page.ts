import type { OpenFile } from '../../core/execution.ts'
import { decode, type Encoding } from './encoding.ts'

/** The requested part of a text; 0 means no limit. */
export interface PageRequest {
  /** The first line, from 1. */
  readonly offset: number
  readonly limit: number
  /** Limit of the shown text, line numbers included. */
  readonly maxBytes: number
  readonly isNumbered: boolean
}

export interface Page {
  readonly lines: readonly string[]
  readonly first: number
  readonly last: number
  /** The first line of the next page, unless this is the end. */
  readonly next?: number
  /** The number of lines, if known. */
  readonly total?: number
  /** The size in bytes of the only line of this page, which is too long to be shown as a whole. */
  readonly cutLine?: number
  /** Bytes of the file on this page. */
  readonly bytes: number
  readonly endsWithNewline: boolean
}

/** The maximum size of a page. */
const maxPageBytes = 32 * 1024 * 1024
/** In larger files the following lines are not counted. */
const maxCountedBytes = 64 * 1024 * 1024

/** The requested lines, or the number of lines if there are not that many. Keeps only the shown part in memory. */
export async function readPage(file: OpenFile, encoding: Encoding, request: PageRequest): Promise<Page | number> {
  const { offset } = request
  const above = await skipLines(file, encoding, encoding.bom, offset - 1)
  if (above.lines < offset - 1) return above.lines
  const extent = await measure(file, encoding, above.position, request)
  if (extent.lines === 0) return offset - 1
  const bytes = await file.read(above.position, extent.shownTo - above.position)
  const last = offset + extent.lines - 1
  const cutLine = extent.cutLine !== undefined && { cutLine: extent.cutLine }
  const text = decode(bytes, encoding, { cut: cutLine !== false })
  const page = { ...linesOf(text), ...cutLine, first: offset, last, bytes: bytes.length }
  const isEnd = (await file.read(extent.end, 1)).length === 0
  if (isEnd) return { ...page, total: last }
  const total = file.info.size <= maxCountedBytes && { total: last + (await countLines(file, encoding, extent.end)) }
  return { ...page, next: last + 1, ...total }
}

/** Skips `count` lines; `lines` is smaller if the file ends before. */
async function skipLines(
  file: OpenFile,
  encoding: Encoding,
  position: number,
  count: number,
): Promise<{ position: number; lines: number }> {
  let lines = 0
  let isOpen = false
  while (lines < count) {
    const bytes = await nextBytes(file, position)
    if (bytes.length === 0) return { position, lines: isOpen ? lines + 1 : lines }
    let at = 0
    while (lines < count) {
      const after = afterNewline(bytes, at, encoding)
      isOpen = after < 0 && at < bytes.length
      if (after < 0) break
      lines++
      at = after
    }
    position += lines < count ? bytes.length : at
  }
  return { position, lines }
}

const countLines = async (file: OpenFile, encoding: Encoding, position: number): Promise<number> =>
  (await skipLines(file, encoding, position, Number.POSITIVE_INFINITY)).lines

interface Extent {
  readonly lines: number
  readonly shownTo: number
  /** Where the next line begins. */
  readonly end: number
  readonly cutLine?: number
}

/** The extent of a page that begins at `start`: whole lines, or a part of one line that is too long. */
async function measure(file: OpenFile, encoding: Encoding, start: number, request: PageRequest): Promise<Extent> {
  const { offset, isNumbered } = request
  const limit = request.limit || Number.POSITIVE_INFINITY
  const maxBytes = Math.min(request.maxBytes || maxPageBytes, maxPageBytes)
  let room = maxBytes
  let lines = 0
  let lineStart = start
  const prefix = (): number => (isNumbered ? `${offset + lines}\t`.length : 0)

  /** Adds a line, or returns the page without it. */
  function take(lineEnd: number): Extent | undefined {
    const size = lineEnd - lineStart + prefix()
    if (size > room && lines > 0) return { lines, shownTo: lineStart, end: lineStart }
    if (size > room)
      return {
        lines: 1,
        shownTo: lineStart + Math.max(maxBytes - prefix(), 1),
        end: lineEnd,
        cutLine: lineEnd - lineStart,
      }
    room -= size
    lines++
    lineStart = lineEnd
    return lines === limit ? { lines, shownTo: lineStart, end: lineStart } : undefined
  }

  for (let position = start; ; ) {
    const bytes = await nextBytes(file, position)
    if (bytes.length === 0)
      return (position > lineStart && take(position)) || { lines, shownTo: lineStart, end: lineStart }
    for (let at = afterNewline(bytes, 0, encoding); at >= 0; at = afterNewline(bytes, at, encoding)) {
      const extent = take(position + at)
      if (extent) return extent
    }
    position += bytes.length
    // A further line that is already too long is not read to its end.
    if (lines > 0 && position - lineStart + prefix() > room) return { lines, shownTo: lineStart, end: lineStart }
  }
}

/** Reads up to the end of the block, so that blocks are not copied. */
function nextBytes(file: OpenFile, position: number): Promise<Uint8Array> {
  return file.read(position, blockSize - (position % blockSize))
}

/** The end of the next newline, or -1. Searched in bytes, so that invalid text does not matter. */
function afterNewline(bytes: Uint8Array, from: number, { name }: Encoding): number {
  if (name === 'utf-8') {
    for (let i = from; i < bytes.length; i++) if (bytes[i] === 10) return i + 1
    return -1
  }
  const low = name === 'utf-16le' ? 0 : 1
  for (let i = from; i + 1 < bytes.length; i += 2) if (bytes[i + low] === 10 && bytes[i + 1 - low] === 0) return i + 2
  return -1
}

function linesOf(text: string): { lines: readonly string[]; endsWithNewline: boolean } {
  const endsWithNewline = text.endsWith('\n')
  return { lines: (endsWithNewline ? text.slice(0, -1) : text).split('\n'), endsWithNewline }
}

/** How much of a file is in memory at a time. */
const blockSize = 1024 * 1024

/** Reads a file in whole blocks and keeps the last one, so that a small file is read only once. */
export function readInBlocks(file: OpenFile, signal: AbortSignal): OpenFile {
  let at = -1
  let block: Uint8Array = new Uint8Array()

  async function blockAt(start: number): Promise<Uint8Array> {
    if (start === at) return block
    signal.throwIfAborted()
    block = await file.read(start, blockSize)
    at = start
    return block
  }

  return {
    info: file.info,
    close: () => file.close(),
    async read(position, length) {
      const parts: Uint8Array[] = []
      while (length > 0) {
        const start = position - (position % blockSize)
        const part = (await blockAt(start)).subarray(position - start, position - start + length)
        if (part.length === 0) break
        parts.push(part)
        position += part.length
        length -= part.length
      }
      return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    },
  }
}
