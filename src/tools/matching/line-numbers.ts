import type { EditTexts } from './text-lines.ts'

/** `12<tab>`, `12→`, `12| `, `12:` or `12: `, as tools print line numbers before each line. `isSure`: text hardly begins so. */
const prefixes: readonly Prefix[] = [
  { pattern: /^ *(\d{1,9})(?:\t|→|\| ?)/, isSure: true },
  { pattern: /^ *(\d{1,9}):/, isSure: false },
  { pattern: /^ *(\d{1,9}): /, isSure: false },
]

interface Prefix {
  readonly pattern: RegExp
  readonly isSure: boolean
}

/** An edit without pasted line numbers, and the number that its first numbered line had. */
export interface StrippedEdit extends EditTexts {
  readonly firstLineNumber: number
  /** False if the number may be part of the text, as in the single line `200: ok`. */
  readonly isSurelyLineNumber: boolean
}

/**
 * The edit with pasted line numbers removed: one variant for each kind of prefix that fits. Empty unless every non-empty old line
 * is numbered, consecutively. Example: `7: a` fits two kinds, with and without the space, and gives `a` and ` a`.
 */
export function variantsWithoutLineNumbers(edit: EditTexts): StrippedEdit[] {
  return prefixes.flatMap((prefix) => strip(edit, prefix) ?? [])
}

function strip(edit: EditTexts, { pattern, isSure }: Prefix): StrippedEdit | undefined {
  const numbers = numbersOf(edit.oldLines, pattern)
  const isNumbered = edit.oldLines.every((line, i) => line === '' || numbers[i] !== undefined)
  if (!isNumbered || !areConsecutive(numbers)) return undefined
  const oldLines = edit.oldLines.map((line) => line.replace(pattern, ''))
  if (oldLines.every((line) => line.trim() === '')) return undefined
  const newLines = stripNewLines(edit.newLines, pattern)
  const present = numbers.filter((number) => number !== undefined)
  return {
    old: oldLines.join('\n'),
    new: newLines.join('\n'),
    oldLines,
    newLines,
    firstLineNumber: present[0]!,
    isSurelyLineNumber: isSure || present.length > 1,
  }
}

/** Removes the line numbers from the new lines if they rise. Lines that the model added have no number. */
function stripNewLines(newLines: readonly string[], pattern: RegExp): readonly string[] {
  const numbers = numbersOf(newLines, pattern).filter((number) => number !== undefined)
  const isRising = numbers.every((number, i) => i === 0 || number > numbers[i - 1]!)
  return isRising ? newLines.map((line) => line.replace(pattern, '')) : newLines
}

function numbersOf(lines: readonly string[], pattern: RegExp): (number | undefined)[] {
  return lines.map((line) => {
    const number = pattern.exec(line)?.[1]
    return number === undefined ? undefined : Number(number)
  })
}

/**
 * Whether the numbers rise by one from line to line. Empty lines may lack a number; then either each of them uses one up (1, empty,
 * 3) or none does (1, empty, 2).
 */
function areConsecutive(numbers: readonly (number | undefined)[]): boolean {
  const first = numbers.findIndex((number) => number !== undefined)
  if (first < 0) return false
  const present = numbers.filter((number) => number !== undefined)
  return (
    present.every((number, i) => number === present[0]! + i) ||
    numbers.every((number, i) => number === undefined || number === numbers[first]! + i - first)
  )
}
