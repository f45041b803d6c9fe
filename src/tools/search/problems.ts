/** What is wrong with a pattern, for whoever wrote it. */
export function badPattern(pattern: string, reason: string): string {
  return `"${pattern}" is no valid pattern: ${reason}`
}

/** What to say of a file type that nobody knows. */
export function unknownType(type: string): string {
  return `there is no file type "${type}"; use glob instead, such as "*.${type.replace(/^[*.]+/, '')}"`
}

/** A newline in a pattern for single lines. */
export const newlineInPattern = 'the literal "\\n" is not allowed; set "multiline" to true for matches over lines'
