import { type IndentConverter, indentOf } from './indentation.ts'
import { type CharacterConverter, foldLookAlikes } from './look-alikes.ts'
import type { SplitText } from './text-lines.ts'

/** A match and the lines that replace it. */
interface Rewrite {
  /** The match as it is in the file. */
  readonly inFile: SplitText
  /** The lines of the old text, as many as those of the match. */
  readonly oldLines: readonly string[]
  readonly newLines: readonly string[]
  /** Used for lines that have no line ending at the match. */
  readonly ending: string
  /** Absent: the new lines are indented like the file already. */
  readonly toFileIndent?: IndentConverter
  /** Absent: the match has the characters of the old text. */
  readonly toFileCharacters?: CharacterConverter
}

/**
 * The text that replaces a match. Lines that the old and the new text share at the beginning or the end stay as they are in
 * the file. New lines get the file's line endings, indentation and characters; `undefined` if these are ambiguous.
 */
export function rewriteLines(rewrite: Rewrite): string | undefined {
  const { inFile, oldLines, newLines, ending } = rewrite
  const { separators } = inFile
  const { top, bottom } = sharedLines(oldLines, newLines)
  const bottomStart = newLines.length - bottom
  const lines = [
    ...inFile.lines.slice(0, top),
    ...newLines.slice(top, bottomStart).map((_, i) => rewrittenLine(top + i, rewrite)),
    ...inFile.lines.slice(inFile.lines.length - bottom),
  ]
  const separatorAfter = (i: number): string | undefined => {
    // A kept line keeps its ending; a new line gets the ending of the matched line with the same index.
    if (i < top || i < bottomStart - 1) return separators[i]
    // The kept lines at the bottom keep their endings, counted from the end. So the last new line gets the ending that stands directly
    // before them: if the match is `a\n`, `b\n`, `c\r\n`, `d`, and `x` replaces `b` and `c`, it gets the `\r\n` before `d`.
    return separators[Math.max(separators.length - (newLines.length - 1 - i), 0)]
  }
  let text = ''
  let separator = ''
  for (const [i, line] of lines.entries()) {
    if (line === undefined) return undefined
    text += line
    if (i === lines.length - 1) break
    const next = separatorAfter(i) || separators.at(-1) || ending
    // An empty line between `\r` and `\n` would vanish: together they are read as one line ending.
    separator = line === '' && separator === '\r' && next === '\n' ? '\r' : next
    text += separator
  }
  return text
}

/** How many lines two texts share at the beginning, and how many of the others at the end. */
export function sharedLines(
  oldLines: readonly string[],
  newLines: readonly string[],
): { readonly top: number; readonly bottom: number } {
  const max = Math.min(oldLines.length, newLines.length)
  let top = 0
  while (top < max && oldLines[top] === newLines[top]) top++
  let bottom = 0
  while (bottom < max - top && oldLines.at(-1 - bottom) === newLines.at(-1 - bottom)) bottom++
  return { top, bottom }
}

/**
 * A new line as it is written to the file; `undefined` if it is ambiguous. `toFileIndent` converts its indentation. With
 * `toFileCharacters`, the rest of the line, compared without whitespace at its ends, is
 * - kept, if it equals one of the matched lines of the file;
 * - else, if it equals an old line, replaced by the line of the file that this old line matched;
 * - else converted: only the part that differs from the old line with the same index, if there are as many new lines as old ones;
 *   else all of it.
 *
 * Example: the old text is `say "a"`, the file has `say “a”`: a new line `say “a”` stays, and `  say "a"` becomes `  say “a”`.
 */
function rewrittenLine(i: number, rewrite: Rewrite): string | undefined {
  const { inFile, oldLines, newLines, toFileIndent, toFileCharacters } = rewrite
  const newLine = newLines[i]!
  const content = newLine.trimStart()
  const newIndent = indentOf(newLine)
  const indent = toFileIndent && content !== '' ? toFileIndent(foldLookAlikes(newIndent)) : newIndent
  if (indent === undefined) return undefined
  if (!toFileCharacters) return indent + content
  const bare = content.trimEnd()
  if (inFile.lines.some((fileLine) => fileLine.trim() === bare)) return indent + content
  const same = oldLines.findIndex((oldLine) => oldLine.trim() === bare)
  if (same >= 0) return indent + inFile.lines[same]!.trim() + content.slice(bare.length)
  const isPaired = oldLines.length === newLines.length
  const text = isPaired
    ? withFileCharacters(content, oldLines[i]!.trim(), inFile.lines[i]!.trim(), toFileCharacters)
    : toFileCharacters(content)
  return text === undefined ? undefined : indent + text
}

/**
 * The beginning and the end that the new line shares with the old line are taken from the file's line; the rest is converted.
 * This needs old line and file line to differ and to correspond character by character. Otherwise (they are equal, or one has an
 * invisible character or a decomposed accent) `toFileCharacters` converts the whole new line.
 */
function withFileCharacters(
  newLine: string,
  oldLine: string,
  fileLine: string,
  toFileCharacters: CharacterConverter,
): string | undefined {
  if (fileLine === oldLine || fileLine.length !== oldLine.length) return toFileCharacters(newLine)
  const max = Math.min(oldLine.length, newLine.length)
  let head = 0
  while (head < max && oldLine[head] === newLine[head]) head++
  let tail = 0
  while (tail < max - head && oldLine.at(-1 - tail) === newLine.at(-1 - tail)) tail++
  const [fileHead, fileTail] = [fileLine.slice(0, head), fileLine.slice(fileLine.length - tail)]
  const areAlike =
    foldLookAlikes(fileHead) === foldLookAlikes(oldLine.slice(0, head)) &&
    foldLookAlikes(fileTail) === foldLookAlikes(oldLine.slice(oldLine.length - tail))
  if (!areAlike) return toFileCharacters(newLine)
  const changed = toFileCharacters(newLine.slice(head, newLine.length - tail))
  return changed === undefined ? undefined : fileHead + changed + fileTail
}
