const alike: Record<string, RegExp> = {
  "'": /[\u2018-\u201B\u2032\u02BC]/g,
  '"': /[\u201C-\u201F\u2033]/g,
  '-': /[\u2010-\u2015\u2212]/g,
  ' ': /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g,
  '': /[\u00AD\u200B-\u200D\u2060\uFEFF]/g,
}
/** All of these, and the marks that can be composed with what stands before them. */
const anyOfThem = /[\u00A0\u00AD\u02BC\u2000-\u206F\u2212\u3000\uFEFF]|\p{Mn}/u

/** A text with typographic quotes, dashes and spaces made plain, invisible characters taken out, accents composed. */
export function foldLookAlikes(text: string): string {
  if (!anyOfThem.test(text)) return text
  let folded = text.normalize('NFC')
  for (const [plain, others] of Object.entries(alike)) folded = folded.replace(others, plain)
  return folded
}

/** What remains of a line when indentation, trailing whitespace and look-alikes do not count. */
export const essenceOf = (line: string): string => foldLookAlikes(line).trim()
