/** What to replace with what, as a model wrote it. */
export interface OldAndNew {
  readonly old: string
  readonly new: string
}

/** `12<tab>`, `12→`, `12| `, `12:` or `12: `, as readers put it before each line. */
const prefixes = [/^ *(\d{1,9})(?:\t|→|\| ?)/, /^ *(\d{1,9}):/, /^ *(\d{1,9}): /]

/** An edit without pasted line numbers, and the number of its first line. */
export interface Unnumbered extends OldAndNew {
  readonly first: number
  /** A single line such as `200: ok` may have no line number at all. */
  readonly isSure: boolean
}

/** Edits without pasted line numbers; none unless every line of `old` that is not empty has one, in order. */
export function withoutLineNumbers(edit: OldAndNew): Unnumbered[] {
  return prefixes.flatMap((prefix, i) => unnumbered(edit, prefix, i === 0) ?? [])
}

function unnumbered(edit: OldAndNew, prefix: RegExp, isSure: boolean): Unnumbered | undefined {
  const old = edit.old.split('\n')
  const numbers = numbersOf(old, prefix)
  const isNumbered = old.every((line, i) => isEmpty(line) || numbers[i] !== undefined)
  if (!isNumbered || !areConsecutive(numbers)) return undefined
  const stripped = stripAll(old, prefix)
  if (!/\S/.test(stripped)) return undefined
  const known = numbers.filter((number) => number !== undefined)
  return { old: stripped, new: withoutPasted(edit.new, prefix), first: known[0]!, isSure: isSure || known.length > 1 }
}

/** A new text is often half pasted and half new: lines that were added have no number. */
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

/** One more from line to line; an empty line may have been counted or not. */
function areConsecutive(numbers: readonly (number | undefined)[]): boolean {
  const first = numbers.findIndex((number) => number !== undefined)
  if (first < 0) return false
  const known = numbers.filter((number) => number !== undefined)
  return (
    known.every((number, i) => number === known[0]! + i) ||
    numbers.every((number, i) => number === undefined || number === numbers[first]! + i - first)
  )
}

const stripAll = (lines: readonly string[], prefix: RegExp): string =>
  lines.map((line) => line.replace(prefix, '')).join('\n')
