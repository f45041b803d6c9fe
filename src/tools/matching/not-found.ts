import { foldLookAlikes } from './look-alikes.ts'
import type { SearchedText } from './searched-text.ts'
import { nearestStart } from './similar-lines.ts'
import { cutLine, type EditTexts, lineNumbersAt, maxShownLength } from './text-lines.ts'

const maxShownLines = 8

/** Describes to the model the most similar lines of the file, and what differs there. */
export function describeNearest(
  searched: SearchedText,
  edit: Pick<EditTexts, 'oldLines'>,
  display: (part: string) => string,
): string {
  const oldLines = edit.oldLines.at(-1) === '' ? edit.oldLines.slice(0, -1) : edit.oldLines
  const nearest = nearestStart(searched, oldLines)
  if (nearest === undefined) return 'Nothing in the file is like it; read the file again'
  const { lines, starts } = searched.lines()
  const first = Math.max(nearest, 0)
  const end = Math.min(nearest + oldLines.length, lines.length)
  const different = firstDifferentLine(lines, oldLines, nearest)
  const from = Math.max(Math.min((different ?? first) - 3, end - maxShownLines), first)
  const until = Math.min(from + maxShownLines, end)
  const numbers = lineNumbersAt(searched.text, starts.slice(first, end))
  const numberOf = (index: number): number => numbers[index - first]!
  const similar =
    end - first > 1
      ? `The most similar lines are ${numberOf(first)}-${numberOf(end - 1)}`
      : `The most similar line is ${numberOf(first)}`
  const shownPart = until - from < end - first ? `. Lines ${numberOf(from)}-${numberOf(until - 1)} of them` : ''
  return [
    `${similar}${shownPart}:`,
    ...lines.slice(from, until).map((line, i) => `${numberOf(from + i)}\t${cutLine(display(line))}`),
    ...(different === undefined
      ? []
      : difference(numberOf(different), display(oldLines[different - nearest]!), display(lines[different]!))),
  ].join('\n')
}

/** The index of the first line of the file that differs. The old text may begin and end in the middle of a line. */
function firstDifferentLine(
  fileLines: readonly string[],
  oldLines: readonly string[],
  first: number,
): number | undefined {
  for (const [i, oldLine] of oldLines.entries()) {
    const fileLine = fileLines[first + i]
    if (fileLine === undefined || fileLine === oldLine) continue
    const isPart =
      (i === 0 && fileLine.endsWith(oldLine)) ||
      (i === oldLines.length - 1 && fileLine.startsWith(oldLine)) ||
      (oldLines.length === 1 && fileLine.includes(oldLine))
    if (!isPart) return first + i
  }
  return undefined
}

function difference(lineNumber: number, oldLine: string, fileLine: string): string[] {
  const from = firstDifferentCharacter(oldLine, fileLine)
  const kind = kindOf(oldLine, fileLine)
  const around = (text: string): string => excerpt(text, from)
  const render = kind === 'whitespace' ? (text: string) => visibleBlanks(around(text)) : around
  return [
    `Line ${lineNumber} differs${notes[kind]}:`,
    `  old_string: ${render(oldLine)}`,
    `  the file:   ${render(fileLine)}`,
    ...(kind === 'look-alikes'
      ? [`  (${codePoint(oldLine, from)} against ${codePoint(fileLine, from)} in the file)`]
      : []),
  ]
}

type Kind = 'whitespace' | 'look-alikes' | 'text'

const notes: Record<Kind, string> = {
  whitespace: ' only in whitespace (· is a space, → a tab, ␍ a carriage return)',
  'look-alikes': ' only in characters that look alike',
  text: '',
}

function kindOf(oldLine: string, fileLine: string): Kind {
  const bare = (text: string): string => text.replace(/\s+/g, '')
  if (bare(oldLine) === bare(fileLine)) return /[^\S \t\r]/.test(oldLine + fileLine) ? 'look-alikes' : 'whitespace'
  return bare(foldLookAlikes(oldLine)) === bare(foldLookAlikes(fileLine)) ? 'look-alikes' : 'text'
}

function firstDifferentCharacter(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

/** The part of a long line around a position. */
function excerpt(line: string, at: number): string {
  const from = line.length > maxShownLength ? Math.max(at - maxShownLength / 2, 0) : 0
  return from > 0 ? `…${cutLine(line.slice(from))}` : cutLine(line)
}

const visibleBlanks = (text: string): string => text.replaceAll(' ', '·').replaceAll('\t', '→').replaceAll('\r', '␍')

function codePoint(text: string, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? 'nothing' : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
