import { foldLookAlikes } from './look-alikes.ts'

/** Turns a text in a model's characters into the file's; `undefined` where the file has several for one of them. */
export type FileCharacters = (text: string) => string | undefined

const asWritten: FileCharacters = (text) => text

/** What the old text as it was given, against the same lines of the file, tells about characters that look alike. */
export function fileCharacters(given: readonly string[], own: readonly string[]): FileCharacters {
  for (const form of [undefined, 'NFC', 'NFD'] as const) {
    const normal = (text: string): string => (form === undefined ? text : text.normalize(form))
    const pairs = given.map((line, i) => [[...normal(line.trim())], [...own[i]!.trim()]] as const)
    if (!pairs.every(([said, written]) => said.length === written.length)) continue
    const targets = new Map<string, Set<string>>()
    for (const [said, written] of pairs)
      for (const [i, character] of said.entries())
        targets.set(character, (targets.get(character) ?? new Set()).add(written[i]!))
    return (text) => translated(normal(text), targets)
  }
  return asWritten
}

function translated(text: string, targets: ReadonlyMap<string, ReadonlySet<string>>): string | undefined {
  const changes = [...targets].filter(([said, written]) => !written.has(said) || written.size > 1)
  if (changes.length === 0) return text
  /** The file writes plainly what the model does not. */
  const isPlain = changes.every(([said, written]) => written.size === 1 && written.has(foldLookAlikes(said)))
  const isOwn = (character: string): boolean => changes.some(([, written]) => written.has(character))
  let result = ''
  for (const character of text) {
    const written = targets.get(character)
    const only = written?.size === 1 ? [...written][0]! : undefined
    // Where the file has straight quotes and typographic ones, a quote may mean any of them.
    if (!isPlain && /["'‘’“”]/.test(character) && !(written === undefined && isOwn(character))) return undefined
    result += only ?? (isPlain && !written ? foldLookAlikes(character) : character)
  }
  return result
}
