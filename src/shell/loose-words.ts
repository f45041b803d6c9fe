/**
 * Everything in a text that could name a program, however it is quoted: for deny rules where there is no syntax tree.
 * Finds too much on purpose. One pass over the text.
 */
export function candidateWords(text: string): string[] {
  const found = new Set<string>()
  // Removes quotes and backslashes first: they may be inside a name. A continued line counts as one word and as two.
  for (const variant of variantsOf(text)) for (const word of variant.split(separators)) addNames(found, word)
  return [...found]
}

/** File names have at most 255 bytes, paths 4096. */
const mostName = 4096
const separators = /[\s\p{Cc}\p{Zs}\p{Zl}\p{Zp};&|<>()$`]+/u
/** Characters that may be part of a name or surround one: `{curl,x}`, `alias a=curl`. */
const joints = /[{}[\],=:!#~*?%@^+]+/

function variantsOf(text: string): string[] {
  const variants = [text.replace(/['"\\]/g, '')]
  if (text.includes('\\\n')) variants.push(text.replace(/\\\n|['"\\]/g, ''))
  if (text.includes("$'")) variants.push(decoded(text).replace(/['"\\]/g, ''))
  // Invisible characters are not part of names in rules.
  if (/\p{Cf}/u.test(text)) variants.push(text.replace(/['"\\]|\p{Cf}/gu, ''))
  return variants
}

/** `$'\x63url'` is curl. */
function decoded(text: string): string {
  return text.replace(
    /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|U([\da-f]{1,8})|([0-7]{1,3}))/gi,
    (_, byte?: string, short?: string, long?: string, octal?: string) => {
      const hex = byte ?? short ?? long
      const code = hex === undefined ? Number.parseInt(octal!, 8) : Number.parseInt(hex, 16)
      return code <= 0x10ffff ? String.fromCodePoint(code) : ''
    },
  )
}

function addNames(found: Set<string>, word: string): void {
  addName(found, word)
  if (joints.test(word)) for (const piece of word.split(joints)) addName(found, piece)
}

function addName(found: Set<string>, word: string): void {
  const name = word.slice(word.lastIndexOf('/') + 1)
  if (name !== '' && name.length <= mostName) found.add(name)
  if (word.length !== name.length && word.length <= mostName) found.add(word)
}
