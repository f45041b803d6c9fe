import { indentOf } from './indentation.ts'

/** A one-line old text behind the indentation of its line, and the lines that take its place. */
export interface LaterLines {
  readonly old: string
  readonly new: readonly string[]
  /** What stands before the old text on its line. */
  readonly indent: string
}

/**
 * The first of the new lines stands behind the indentation of the place. Whether the others have it already, `as written`,
 * or are written as if there was none, `shifted`; `unclear` where they can be read either way.
 */
export function laterLines({ old, new: lines, indent }: LaterLines): 'as written' | 'shifted' | 'unclear' {
  const later = lines.slice(1).filter((line) => line.trim() !== '')
  const [second] = later
  if (second === undefined) return 'as written'
  const kept = later.find((line) => line.trim() === old.trim())
  if (kept !== undefined && indentOf(kept) === indent) return 'as written'
  if (kept !== undefined && indentOf(kept) === '') return 'shifted'
  const isOpening = /(?:[{([:,=?]|=>|&&|\|\|)$/.test(lines[0]!.trimEnd())
  if (later.every((line) => line.startsWith(indent)))
    return isOpening && indentOf(second) === indent ? 'unclear' : 'as written'
  if (leavesBlock(lines)) return 'as written'
  const isFlush = later.some((line) => indentOf(line) === '')
  // Behind a blank line, what begins at the margin is often meant to stand there.
  if (isFlush)
    return lines.some((line, i) => i > 0 && /^\S/.test(line) && lines[i - 1]!.trim() === '') ? 'unclear' : 'shifted'
  return isOpening ? 'shifted' : 'unclear'
}

/** Whether a line after the first begins by closing a bracket that these lines did not open. */
function leavesBlock([first, ...later]: readonly string[]): boolean {
  let depth = Math.max(0, opened(first!))
  for (const line of later) {
    const closing = /^[)\]}]*/.exec(line.trimStart())![0]
    if (closing.length > depth) return true
    depth = Math.max(0, depth + opened(line))
  }
  return false
}

/** How many more brackets a line opens than it closes. */
const opened = (line: string): number => (line.match(/[([{]/g)?.length ?? 0) - (line.match(/[)\]}]/g)?.length ?? 0)
