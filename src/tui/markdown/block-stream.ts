/** A part of an answer that is complete. */
export type Piece =
  | {
      /** `plain` is too long to be parsed; it may begin and end in the middle of a block. */
      readonly kind: 'markdown' | 'plain'
      readonly text: string
    }
  /** Whole lines of a code block, without its fences. */
  | { readonly kind: 'code'; readonly text: string; readonly lang: string; readonly isFirst: boolean }

/** A longer block is not parsed: the time for some texts grows with the square of their length. */
const mostInBlock = 16 * 1024
/** Code is not parsed, so it may be longer. */
const mostInFence = 128 * 1024
/** A block that is too long is emitted in portions of this size. */
const portion = 1024

/**
 * Cuts streamed markdown into complete blocks; each line is examined once. A block ends before an unindented line that follows a blank one, after a heading, and before a code block. Code is
 * emitted line by line. A list with blank lines between its items becomes several pieces, which render the same.
 */
export function createBlockStream() {
  /** Complete lines, and the current incomplete one. */
  let lines: string[] = []
  let current = ''
  let size = 0
  let isAfterBlank = false
  let isOverflowing = false
  let hasList = false
  let fence: Fence | undefined
  /** The current code block, if it is outside of lists. */
  let code: { readonly lang: string; isFirst: boolean } | undefined
  let pieces: Piece[] = []

  const emit = (): void => {
    const text = lines.join('')
    if (isOverflowing) pieces.push({ kind: 'plain', text: text.replace(/\n+$/, '\n') })
    else if (text.trim() !== '') pieces.push({ kind: 'markdown', text })
    lines = []
    size = 0
    isAfterBlank = isOverflowing = hasList = false
  }

  const emitCode = (): void => {
    const last = pieces.at(-1)
    const text = lines.join('')
    if (last?.kind === 'code' && !code!.isFirst) pieces[pieces.length - 1] = { ...last, text: last.text + text }
    else pieces.push({ kind: 'code', text, ...code! })
    code!.isFirst = false
    lines = []
    size = 0
  }

  /** Emits complete lines if there are some, else words, else everything. */
  const overflow = (): void => {
    const cut = lines.length > 0 ? 0 : current.lastIndexOf(' ') + 1 || wholeLength(current)
    pieces.push({ kind: 'plain', text: lines.join('') + current.slice(0, cut) })
    current = current.slice(cut)
    lines = []
    size = 0
    isOverflowing = true
    code = undefined
  }
  const limit = (): number => {
    if (isOverflowing) return portion
    return fence ? mostInFence : mostInBlock
  }

  const line = (text: string): void => {
    if (fence) {
      if (fence.closes(text)) {
        const isTop = fence.indent === 0
        fence = undefined
        if (code) lines = []
        code = undefined
        if (isTop) emit()
        return
      }
      if (code) {
        emitCode()
        return
      }
      if (!hasList || fence.indent < 2 || isBlank(text) || indentOf(text) >= 2) return
      fence = undefined // a fence opened in a list item ends with the item
    }
    isAfterBlank = isBlank(text)
    if (isAfterBlank) return
    fence = fenceOf(text)
    if (fence?.indent === 0 && !isOverflowing) {
      lines.pop()
      emit()
      code = { lang: fence.lang, isFirst: true }
      return
    }
    hasList ||= isItem.test(text)
    if (isHeading.test(text) && !isOverflowing) emit()
  }

  const take = (): Piece[] => {
    const taken = pieces
    pieces = []
    return taken
  }

  return {
    /** Returns the pieces that this delta completes. */
    push(delta: string): Piece[] {
      for (let rest = delta; ; ) {
        const end = rest.indexOf('\n')
        current += end < 0 ? rest : rest.slice(0, end)
        if (isAfterBlank && !fence && startsBlock(current)) emit()
        if (end < 0) break
        const text = current
        lines.push(`${text}\n`)
        size += text.length + 1
        current = ''
        line(text)
        rest = rest.slice(end + 1)
      }
      while (size + current.length > limit()) overflow()
      return take()
    },
    /** Returns the rest. */
    finish(): Piece[] {
      const isClosed = code && fence?.closes(current)
      if (current !== '' && !isClosed) lines.push(current)
      if (code && lines.length > 0) emitCode()
      current = ''
      fence = code = undefined
      emit()
      return take()
    },
    /** The last lines of the incomplete block. Empty for code, whose lines are emitted one by one. */
    tail: (most: number): string[] => (code ? [] : [...lines.slice(-most), current].slice(-most)),
  }
}

interface Fence {
  readonly indent: number
  /** The text after the marks. */
  readonly lang: string
  closes(line: string): boolean
}

function fenceOf(line: string): Fence | undefined {
  const [opening = '', before = '', marks] =
    /^([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})/.exec(line.slice(0, 512)) ?? []
  if (marks === undefined) return undefined
  const end = new RegExp(`^[ \\t]*${marks[0]}{${marks.length},}[ \\t\\r]*$`)
  return {
    indent: before.length,
    lang: line.slice(opening.length).trim(),
    closes: (text) => text.length < 512 && end.test(text),
  }
}

const isItem = /^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/
const isHeading = /^#{1,6}(?:[ \t]|\r?$)/
const isBlank = (line: string): boolean => /^[ \t\r]*$/.test(line)
const indentOf = (line: string): number => line.length - line.trimStart().length

/** Whether a line after a blank one cannot belong to the block before it. */
const startsBlock = (line: string): boolean => line !== '' && !' \t\r'.includes(line[0]!)

/** The length without half a surrogate pair at the end. */
const wholeLength = (text: string): number => {
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last < 0xdc00 ? text.length - 1 : text.length
}
