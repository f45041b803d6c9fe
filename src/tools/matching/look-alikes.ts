const alike: Record<string, RegExp> = {
  "'": /[\u2018-\u201B\u2032\u02BC]/g,
  '"': /[\u201C-\u201F\u2033]/g,
  '-': /[\u2010-\u2015\u2212]/g,
  ' ': /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g,
  '': /[\u00AD\u200B-\u200D\u2060\uFEFF]/g,
}
/** All of these, and combining marks. */
const anyOfThem = /[\u00A0\u00AD\u02BC\u2000-\u206F\u2212\u3000\uFEFF]|\p{Mn}/u

/** Replaces typographic quotes, dashes and spaces by plain ones, removes invisible characters, composes accents. */
export function foldLookAlikes(text: string): string {
  if (!anyOfThem.test(text)) return text
  let folded = text.normalize('NFC')
  for (const [plain, others] of Object.entries(alike)) folded = folded.replace(others, plain)
  return folded
}

/** A line without indentation, trailing whitespace and typographic characters, for comparison. */
export const normalizedLine = (line: string): string => foldLookAlikes(line).trim()

/** Converts the characters of the model's text to those of the file; `undefined` if one of them is ambiguous. */
export type CharacterConverter = (text: string) => string | undefined

const asWritten: CharacterConverter = (text) => text

/** Compares the old text of the model with the same lines of the file: `"` in the one and `“` in the other means that `"` stands for `“`. */
export function fileCharacters(given: readonly string[], inFile: readonly string[]): CharacterConverter {
  for (const form of [undefined, 'NFC', 'NFD'] as const) {
    const normal = (text: string): string => (form === undefined ? text : text.normalize(form))
    const pairs = given.map((line, i) => [[...normal(line.trim())], [...inFile[i]!.trim()]] as const)
    if (!pairs.every(([asGiven, written]) => asGiven.length === written.length)) continue
    const targets = new Map<string, Set<string>>()
    for (const [asGiven, written] of pairs)
      for (const [i, character] of asGiven.entries())
        targets.set(character, (targets.get(character) ?? new Set()).add(written[i]!))
    return (text) => translated(normal(text), targets)
  }
  return asWritten
}

function translated(text: string, targets: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
  const changes = [...targets].filter(([asGiven, written]) => !written.has(asGiven) || written.size > 1)
  if (changes.length === 0) return text
  /** The file has plain characters where the model wrote typographic ones. */
  const isAsciiInFile = changes.every(
    ([asGiven, written]) => written.size === 1 && written.has(foldLookAlikes(asGiven)),
  )
  const isOfFile = (character: string): boolean => changes.some(([, written]) => written.has(character))
  let result = ''
  for (const character of text) {
    const written = targets.get(character)
    const only = written?.size === 1 ? [...written][0]! : undefined
    // If the file has typographic characters here, a quote may stand for an opening or a closing one, unless the file uses this
    // very character and the old text does not: then it was copied from the file.
    if (!isAsciiInFile && /["'‘’“”]/.test(character) && !(written === undefined && isOfFile(character)))
      return undefined
    result += only ?? (isAsciiInFile && !written ? foldLookAlikes(character) : character)
  }
  return result
}
