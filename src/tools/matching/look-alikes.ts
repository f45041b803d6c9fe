const alike: Record<string, RegExp> = {
  "'": /[\u2018-\u201B\u2032\u02BC]/g,
  '"': /[\u201C-\u201F\u2033]/g,
  '-': /[\u2010-\u2015\u2212]/g,
  ' ': /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g,
  '': /[\u00AD\u200B-\u200D\u2060\uFEFF]/g,
}
/** The characters above, and combining marks. */
const foldable = /[\u00A0\u00AD\u02BC\u2000-\u206F\u2212\u3000\uFEFF]|\p{Mn}/u

/** Replaces typographic quotes, dashes and spaces by plain ones, removes invisible characters, composes accents. */
export function foldLookAlikes(text: string): string {
  if (!foldable.test(text)) return text
  let folded = text.normalize('NFC')
  for (const [plain, others] of Object.entries(alike)) folded = folded.replace(others, plain)
  return folded
}

/** A line without indentation, trailing whitespace and typographic characters, for comparison. */
export const normalizedLine = (line: string): string => foldLookAlikes(line).trim()

/** Converts the characters of the new text to those of the file; `undefined` if one of them is ambiguous. */
export type CharacterConverter = (text: string) => string | undefined

const asWritten: CharacterConverter = (text) => text

/**
 * Compares the old text with the matched lines of the file: where the model wrote `-` and the file has `–`, a `-` in the new text
 * becomes `–`. Quotes are not converted in this direction, see `translated`.
 */
export function characterConverter(oldLines: readonly string[], fileLines: readonly string[]): CharacterConverter {
  for (const form of [undefined, 'NFC', 'NFD'] as const) {
    const normal = (text: string): string => (form === undefined ? text : text.normalize(form))
    const pairs = oldLines.map((line, i) => [[...normal(line.trim())], [...fileLines[i]!.trim()]] as const)
    if (!pairs.every(([oldCharacters, fileCharacters]) => oldCharacters.length === fileCharacters.length)) continue
    const fileCharactersFor = new Map<string, Set<string>>()
    for (const [oldCharacters, fileCharacters] of pairs)
      for (const [i, character] of oldCharacters.entries())
        fileCharactersFor.set(character, (fileCharactersFor.get(character) ?? new Set()).add(fileCharacters[i]!))
    return (newText) => translated(normal(newText), fileCharactersFor)
  }
  return asWritten
}

/** `fileCharactersFor` has, for each character of the old text, the characters that stand in its place in the file. */
function translated(newText: string, fileCharactersFor: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
  const changes = [...fileCharactersFor].filter(([old, inFile]) => !inFile.has(old) || inFile.size > 1)
  if (changes.length === 0) return newText
  /** The file has plain characters where the model wrote typographic ones. */
  const isPlainInFile = changes.every(([old, inFile]) => inFile.size === 1 && inFile.has(foldLookAlikes(old)))
  /**
   * Where the file has typographic characters, a quote in the new text is ambiguous: opening or closing? Exception: a character that
   * occurs in the matched file lines but not in old_string was copied from the file by the model, so it is not ambiguous.
   */
  const isAmbiguousQuote = (character: string): boolean => {
    if (isPlainInFile || !/["'‘’“”]/.test(character)) return false
    return fileCharactersFor.has(character) || !changes.some(([, inFile]) => inFile.has(character))
  }
  let result = ''
  for (const character of newText) {
    if (isAmbiguousQuote(character)) return undefined
    const inFile = fileCharactersFor.get(character)
    const only = inFile?.size === 1 ? [...inFile][0]! : undefined
    result += only ?? (isPlainInFile && !inFile ? foldLookAlikes(character) : character)
  }
  return result
}
