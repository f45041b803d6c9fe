/** The old and the new text of an edit, as the model wrote them. */
export interface OldAndNew {
  readonly old: string
  readonly new: string
}

/** `12<tab>`, `12→`, `12| `, `12:` or `12: `, as tools print line numbers before each line. */
const prefixes = [/^ *(\d{1,9})(?:\t|→|\| ?)/, /^ *(\d{1,9}):/, /^ *(\d{1,9}): /]

/** An edit without pasted line numbers, and the number that its first numbered line had. */
export interface StrippedEdit extends OldAndNew {
  readonly firstLineNumber: number
  /** False if the number may be part of the text, as in the single line `200: ok`. */
  readonly isSurelyLineNumber: boolean
}

/**
 * The edit with pasted line numbers removed: one variant for each kind of prefix that fits. Empty unless every non-empty line of
 * `old` is numbered, consecutively. Example: `7: a` fits two kinds, with and without the space, and gives `a` and ` a`.
 */
export function variantsWithoutLineNumbers(edit: OldAndNew): StrippedEdit[] {
  return prefixes.flatMap((prefix, i) => strip(edit, prefix, i === 0) ?? [])
}

function strip(edit: OldAndNew, prefix: RegExp, isSure: boolean): StrippedEdit | undefined {
  const oldLines = edit.old.split('\n')
  const numbers = numbersOf(oldLines, prefix)
  const isNumbered = oldLines.every((line, i) => isEmpty(line) || numbers[i] !== undefined)
  if (!isNumbered || !areConsecutive(numbers)) return undefined
  const stripped = stripAll(oldLines, prefix)
  if (!/\S/.test(stripped)) return undefined
  const present = numbers.filter((number) => number !== undefined)
  return {
    old: stripped,
    new: stripNewText(edit.new, prefix),
    firstLineNumber: present[0]!,
    isSurelyLineNumber: isSure || present.length > 1,
  }
}

/** Removes the line numbers from the new text if they rise. Lines that the model added have no number. */
function stripNewText(text: string, prefix: RegExp): string {
  const newLines = text.split('\n')
  const numbers = numbersOf(newLines, prefix).filter((number) => number !== undefined)
  const rise = numbers.every((number, i) => i === 0 || number > numbers[i - 1]!)
  return rise ? stripAll(newLines, prefix) : text
}

const isEmpty = (line: string): boolean => line === '' || line === '\r'

function numbersOf(lines: readonly string[], prefix: RegExp): (number | undefined)[] {
  return lines.map((line) => {
    const number = prefix.exec(line)?.[1]
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

const stripAll = (lines: readonly string[], prefix: RegExp): string =>
  lines.map((line) => line.replace(prefix, '')).join('\n')
