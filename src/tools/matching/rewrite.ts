import { indentOf, type Shift } from './indentation.ts'
import { type CharacterConverter, foldLookAlikes } from './look-alikes.ts'
import type { SplitText } from './text-lines.ts'

/** A match and the lines that replace it. */
interface Rewrite {
  /** The match as it is in the file. */
  readonly inFile: SplitText
  /** The same lines as given; there are as many. */
  readonly old: readonly string[]
  readonly new: readonly string[]
  /** Used for lines that have no line ending at the match. */
  readonly ending: string
  /** Converts the given indentation to that of the file. */
  readonly shift?: Shift
  /** Converts the given characters to those of the file. */
  readonly toFileCharacters?: CharacterConverter
}

/**
 * The text that replaces a match. Lines that the old and the new text share at the beginning or the end stay as they are in
 * the file. New lines get the file's line endings, indentation and characters; `undefined` if these are ambiguous.
 */
export function rewriteLines(rewrite: Rewrite): string | undefined {
  const { inFile, old, new: lines, ending } = rewrite
  const { top, bottom } = sharedLines(old, lines)
  const bottomStart = lines.length - bottom
  /** The offset from an index in the new text to an index in the file, for the shared lines at the end. */
  const offset = old.length - lines.length
  let text = ''
  let separator = ''
  for (let i = 0; i < lines.length; i++) {
    const isNew = i >= top && i < bottomStart
    const line = isNew ? newLine(i, rewrite) : inFile.lines[i < top ? i : i + offset]
    if (line === undefined) return undefined
    text += line
    if (i === lines.length - 1) break
    // A kept line keeps its ending, and the last new line gets the one before the kept lines below it. Any other new line gets
    // the ending of the line with its index.
    const separatorIndex = i >= top && i >= bottomStart - 1 ? Math.max(i + offset, 0) : i
    const next = inFile.separators[separatorIndex] || inFile.separators.at(-1) || ending
    // An empty line between `\r` and `\n` would vanish: together they are read as one line ending.
    separator = line === '' && separator === '\r' && next === '\n' ? '\r' : next
    text += separator
  }
  return text
}

function sharedLines(old: readonly string[], lines: readonly string[]): { top: number; bottom: number } {
  const max = Math.min(old.length, lines.length)
  let top = 0
  while (top < max && old[top] === lines[top]) top++
  let bottom = 0
  while (bottom < max - top && old.at(-1 - bottom) === lines.at(-1 - bottom)) bottom++
  return { top, bottom }
}

/** A line that the file already has stays as written. A line of the old text becomes that line of the file. */
function newLine(i: number, { inFile, old, new: lines, shift, toFileCharacters }: Rewrite): string | undefined {
  const line = lines[i]!
  const content = line.trimStart()
  const givenIndent = indentOf(line)
  const indent = shift && content !== '' ? shift(foldLookAlikes(givenIndent)) : givenIndent
  if (indent === undefined) return undefined
  if (!toFileCharacters) return indent + content
  const bare = content.trimEnd()
  if (inFile.lines.some((fileLine) => fileLine.trim() === bare)) return indent + content
  const same = old.findIndex((oldLine) => oldLine.trim() === bare)
  if (same >= 0) return indent + inFile.lines[same]!.trim() + content.slice(bare.length)
  const isPaired = old.length === lines.length
  const text = isPaired
    ? withFileCharacters(content, old[i]!.trim(), inFile.lines[i]!.trim(), toFileCharacters)
    : toFileCharacters(content)
  return text === undefined ? undefined : indent + text
}

/** Keeps the file's characters in the parts at both ends that the new line shares with the old one. */
function withFileCharacters(
  content: string,
  old: string,
  inFile: string,
  toFileCharacters: CharacterConverter,
): string | undefined {
  if (inFile === old || inFile.length !== old.length) return toFileCharacters(content)
  const max = Math.min(old.length, content.length)
  let head = 0
  while (head < max && old[head] === content[head]) head++
  let tail = 0
  while (tail < max - head && old.at(-1 - tail) === content.at(-1 - tail)) tail++
  const [fileHead, fileTail] = [inFile.slice(0, head), inFile.slice(inFile.length - tail)]
  const areAlike =
    foldLookAlikes(fileHead) === foldLookAlikes(old.slice(0, head)) &&
    foldLookAlikes(fileTail) === foldLookAlikes(old.slice(old.length - tail))
  if (!areAlike) return toFileCharacters(content)
  const changed = toFileCharacters(content.slice(head, content.length - tail))
  return changed === undefined ? undefined : fileHead + changed + fileTail
}
