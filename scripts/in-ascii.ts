/** The same code in ASCII. What would mean something else then is refused: a sign after a backslash, and raw text. */
export function inAscii(code: string): string {
  const [found] = /\\[\u0080-\uffff]|\braw\s*`[^`]*?[\u0080-\uffff]/.exec(code) ?? []
  if (found !== undefined) throw new Error(`this cannot be written in ASCII: ${found.slice(-60)}`)
  return code.replace(/[\u0080-\uffff]/g, escaped)
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
