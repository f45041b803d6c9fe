/** The words of a value that is a list, or a text with blanks or commas between them. What is in parentheses stays together. */
export function wordsOf(value: unknown, separators: 'blanks and commas' | 'commas' = 'blanks and commas'): string[] {
  if (Array.isArray(value)) return value.filter((item) => typeof item === 'string').flatMap((item) => item.trim() || [])
  if (typeof value !== 'string') return []
  const isBetween = separators === 'commas' ? /[,\n]/ : /[\s,]/
  const words: string[] = []
  let word = ''
  let depth = 0
  for (const sign of separators === 'commas' ? value : value.replace(blankBefore, '')) {
    if (depth === 0 && isBetween.test(sign)) {
      words.push(word)
      word = ''
      continue
    }
    if (opening.has(sign)) depth++
    if (closing.has(sign)) depth = Math.max(0, depth - 1)
    word += sign
  }
  return [...words, word].flatMap((one) => one.trim() || [])
}

// In `Bash (git:*)` the blank parts nothing: of two words the first would allow every command.
const blankBefore = /(?<=[^\s,])[ \t]+(?=\()/g

// Globs have commas in braces: src/**/*.{ts,tsx}
const opening = new Set('({')
const closing = new Set(')}')
