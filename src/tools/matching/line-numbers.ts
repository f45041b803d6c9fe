/** What to replace with what, as a model wrote it. */
export interface OldAndNew {
  readonly old: string
  readonly new: string
}

/** `12<tab>`, `12→` or `12| `, as readers put it before each line. */
const prefix = /^ *(\d{1,9})(\t|→|\| ?)/

/** An edit without pasted line numbers; `undefined` unless every line of `old` that is not empty has one, in order. */
export function withoutLineNumbers(edit: OldAndNew): OldAndNew | undefined {
  const old = edit.old.split('\n')
  const numbers = numbersOf(old)
  const isNumbered = old.every((line, i) => isEmpty(line) || numbers[i] !== undefined)
  if (!isNumbered || !areConsecutive(numbers)) return undefined
  const stripped = stripAll(old)
  return /\S/.test(stripped) ? { old: stripped, new: withoutPasted(edit.new) } : undefined
}

/** A new text is often half pasted and half new: lines that were added have no number. */
function withoutPasted(text: string): string {
  const lines = text.split('\n')
  const numbers = numbersOf(lines).filter((number) => number !== undefined)
  const rise = numbers.every((number, i) => i === 0 || number > numbers[i - 1]!)
  return rise ? stripAll(lines) : text
}

const isEmpty = (line: string): boolean => line === '' || line === '\r'

function numbersOf(lines: readonly string[]): (number | undefined)[] {
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

const stripAll = (lines: readonly string[]): string => lines.map((line) => line.replace(prefix, '')).join('\n')
