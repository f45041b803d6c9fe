/** The old and the new text of an edit, as the model wrote them. */
export interface OldAndNew {
  readonly old: string
  readonly new: string
}

/** `12<tab>`, `12→`, `12| `, `12:` or `12: `, as tools print line numbers before each line. */
const prefixes = [/^ *(\d{1,9})(?:\t|→|\| ?)/, /^ *(\d{1,9}):/, /^ *(\d{1,9}): /]

/** An edit without pasted line numbers, and the number of its first line. */
export interface StrippedEdit extends OldAndNew {
  readonly firstLineNumber: number
  /** False if the number may be part of the text, as in the single line `200: ok`. */
  readonly isSurelyLineNumber: boolean
}

/** The edit without pasted line numbers, in every form they can be read. Empty unless all lines of `old` that are not empty have consecutive numbers. */
export function withoutLineNumbers(edit: OldAndNew): StrippedEdit[] {
  return prefixes.flatMap((prefix, i) => strip(edit, prefix, i === 0) ?? [])
}

function strip(edit: OldAndNew, prefix: RegExp, isSure: boolean): StrippedEdit | undefined {
  const old = edit.old.split('\n')
  const numbers = numbersOf(old, prefix)
  const isNumbered = old.every((line, i) => isEmpty(line) || numbers[i] !== undefined)
  if (!isNumbered || !areConsecutive(numbers)) return undefined
  const stripped = stripAll(old, prefix)
  if (!/\S/.test(stripped)) return undefined
  const present = numbers.filter((number) => number !== undefined)
  return {
    old: stripped,
    new: withoutPasted(edit.new, prefix),
    firstLineNumber: present[0]!,
    isSurelyLineNumber: isSure || present.length > 1,
  }
}

/** Strips the numbers of the new text too. Added lines have no number. */
function withoutPasted(text: string, prefix: RegExp): string {
  const lines = text.split('\n')
  const numbers = numbersOf(lines, prefix).filter((number) => number !== undefined)
  const rise = numbers.every((number, i) => i === 0 || number > numbers[i - 1]!)
  return rise ? stripAll(lines, prefix) : text
}

const isEmpty = (line: string): boolean => line === '' || line === '\r'

function numbersOf(lines: readonly string[], prefix: RegExp): (number | undefined)[] {
  return lines.map((line) => {
    const number = prefix.exec(line)?.[1]
    return number === undefined ? undefined : Number(number)
  })
}

/** Whether the numbers rise by one from line to line. An empty line may have been counted or not. */
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
