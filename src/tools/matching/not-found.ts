import { foldLookAlikes } from './look-alikes.ts'
import type { SearchedText } from './searched-text.ts'
import { nearestLines } from './similar-lines.ts'
import { cutLine, lineNumbersAt, maxShownLength, withLfEndings } from './text-lines.ts'

const maxShownLines = 8

/** Describes to the model the most similar lines of the file, and what differs there. */
export function describeNearest(searched: SearchedText, old: string, display: (part: string) => string): string {
  const written = withLfEndings(old).split('\n')
  const given = written.at(-1) === '' ? written.slice(0, -1) : written
  const nearest = nearestLines(searched, given)
  if (nearest === undefined) return 'Nothing in the file is like it; read the file again'
  const { texts, starts } = searched.lines()
  const first = Math.max(nearest, 0)
  const end = Math.min(nearest + given.length, texts.length)
  const different = firstDifferentLine(texts, given, nearest)
  const from = Math.max(Math.min((different ?? first) - 3, end - maxShownLines), first)
  const until = Math.min(from + maxShownLines, end)
  const numbers = lineNumbersAt(searched.text, starts.slice(first, end))
  const numberOf = (index: number): number => numbers[index - first]!
  const span = end - first > 1 ? `lines ${numberOf(first)}-${numberOf(end - 1)}` : `line ${numberOf(first)}`
  return [
    `The closest place is ${span}${until - from < end - first ? ', in part' : ''}:`,
    ...texts.slice(from, until).map((line, i) => `${numberOf(from + i)}\t${cutLine(display(line))}`),
    ...(different === undefined
      ? []
      : difference(numberOf(different), display(given[different - nearest]!), display(texts[different]!))),
  ].join('\n')
}

/** The old text may begin and end in the middle of a line. */
function firstDifferentLine(texts: readonly string[], given: readonly string[], first: number): number | undefined {
  for (const [i, line] of given.entries()) {
    const inFile = texts[first + i]
    if (inFile === undefined || inFile === line) continue
    const isPart =
      (i === 0 && inFile.endsWith(line)) ||
      (i === given.length - 1 && inFile.startsWith(line)) ||
      (given.length === 1 && inFile.includes(line))
    if (!isPart) return first + i
  }
  return undefined
}

function difference(line: number, given: string, inFile: string): string[] {
  const from = firstDifferentCharacter(given, inFile)
  const kind = kindOf(given, inFile)
  const around = (text: string): string => excerpt(text, from)
  const render = kind === 'whitespace' ? (text: string) => visibleBlanks(around(text)) : around
  return [
    `Line ${line} differs${notes[kind]}:`,
    `  old_string: ${render(given)}`,
    `  the file:   ${render(inFile)}`,
    ...(kind === 'look-alikes' ? [`  (${codePoint(given, from)} against ${codePoint(inFile, from)} in the file)`] : []),
  ]
}

type Kind = 'whitespace' | 'look-alikes' | 'text'

const notes: Record<Kind, string> = {
  whitespace: ' only in whitespace (· is a space, → a tab, ␍ a carriage return)',
  'look-alikes': ' only in characters that look alike',
  text: '',
}

function kindOf(given: string, inFile: string): Kind {
  const bare = (text: string): string => text.replace(/\s+/g, '')
  if (bare(given) === bare(inFile)) return /[^\S \t\r]/.test(given + inFile) ? 'look-alikes' : 'whitespace'
  return bare(foldLookAlikes(given)) === bare(foldLookAlikes(inFile)) ? 'look-alikes' : 'text'
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
