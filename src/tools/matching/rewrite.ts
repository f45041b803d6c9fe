import type { FileCharacters } from './file-characters.ts'
import { indentOf, type Shift } from './indentation.ts'
import type { SplitText } from './line-endings.ts'
import { foldLookAlikes } from './look-alikes.ts'

/** A place, and what is to become of it. */
export interface Rewrite {
  /** The place as it stands in the file. */
  readonly own: SplitText
  /** The same lines as they were given, as many. */
  readonly old: readonly string[]
  readonly new: readonly string[]
  /** For lines that find no line ending at the place. */
  readonly ending: string
  /** From the given indentation to that of the file. */
  readonly shift?: Shift
  /** From the given characters to those of the file. */
  readonly characters?: FileCharacters
}

/**
 * What is to stand at a place. Lines with which both the old and the new text begin, or end, stay as the file has them;
 * new ones get the file's line endings, indentation and characters. `undefined` where one of them cannot be told.
 */
export function rewritten(rewrite: Rewrite): string | undefined {
  const { own, old, new: lines, ending } = rewrite
  const { top, bottom } = sharedLines(old, lines)
  const firstKept = lines.length - bottom
  /** From a line of the new text to the same one of the file, counted from the end. */
  const drop = old.length - lines.length
  let text = ''
  let separator = ''
  for (let i = 0; i < lines.length; i++) {
    const isFresh = i >= top && i < firstKept
    const line = isFresh ? freshLine(i, rewrite) : own.lines[i < top ? i : i + drop]
    if (line === undefined) return undefined
    text += line
    if (i === lines.length - 1) break
    // Kept lines keep their ending; a new one gets that of the line that stood there.
    const at = i >= top && i >= firstKept - 1 ? Math.max(i + drop, 0) : i
    const next = own.separators[at] || own.separators.at(-1) || ending
    // Around an empty line, the two would become one.
    separator = line === '' && separator === '\r' && next === '\n' ? '\r' : next
    text += separator
  }
  return text
}

function sharedLines(old: readonly string[], lines: readonly string[]): { top: number; bottom: number } {
  const most = Math.min(old.length, lines.length)
  let top = 0
  while (top < most && old[top] === lines[top]) top++
  let bottom = 0
  while (bottom < most - top && old.at(-1 - bottom) === lines.at(-1 - bottom)) bottom++
  return { top, bottom }
}

function freshLine(i: number, { own, old, new: lines, shift, characters }: Rewrite): string | undefined {
  const line = lines[i]!
  const content = line.trimStart()
  const given = indentOf(line)
  const indent = shift && content !== '' ? shift(foldLookAlikes(given)) : given
  if (indent === undefined) return undefined
  if (!characters) return indent + content
  const bare = content.trimEnd()
  if (own.lines.some((one) => one.trim() === bare)) return indent + content
  const same = old.findIndex((one) => one.trim() === bare)
  if (same >= 0) return indent + own.lines[same]!.trim() + content.slice(bare.length)
  const isPaired = old.length === lines.length
  const text = isPaired
    ? withOwnCharacters(content, old[i]!.trim(), own.lines[i]!.trim(), characters)
    : characters(content)
  return text === undefined ? undefined : indent + text
}

/** Where the file has a typographic quote and the old text a plain one, what did not change keeps the file's. */
function withOwnCharacters(content: string, old: string, own: string, characters: FileCharacters): string | undefined {
  if (own === old || own.length !== old.length) return characters(content)
  const most = Math.min(old.length, content.length)
  let head = 0
  while (head < most && old[head] === content[head]) head++
  let tail = 0
  while (tail < most - head && old.at(-1 - tail) === content.at(-1 - tail)) tail++
  const [ownHead, ownTail] = [own.slice(0, head), own.slice(own.length - tail)]
  const areAlike =
    foldLookAlikes(ownHead) === foldLookAlikes(old.slice(0, head)) &&
    foldLookAlikes(ownTail) === foldLookAlikes(old.slice(old.length - tail))
  if (!areAlike) return characters(content)
  const changed = characters(content.slice(head, content.length - tail))
  return changed === undefined ? undefined : ownHead + changed + ownTail
}
