/**
 * A text whose control characters can be seen and do nothing: ESC as `␛`, others as `\x..`. Tabs, newlines and the CR of
 * a CRLF stay; a lone CR, which lets a line overwrite itself, does not.
 */
export function visibleText(text: string): string {
  return text.replace(controlsInText, shown)
}

/** The same for a name, which is shown on one line: newlines and tabs are escaped too, and what turns text around. */
export function visibleName(name: string): string {
  return name.replace(controlsInNames, shown)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const controlsInText = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const controlsInNames = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\p{Surrogate}/gu

const named: Record<string, string> = { '\x1b': '␛', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function shown(character: string): string {
  const code = character.charCodeAt(0)
  return named[character] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`)
}

const hex = (code: number, length: number): string => code.toString(16).padStart(length, '0')
