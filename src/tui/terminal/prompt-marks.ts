/**
 * The rows of a message with the marks of shell integration (OSC 133), by which terminals jump from prompt to prompt and
 * select the output of one. What follows the message is its output.
 */
export function markPrompt(rows: readonly string[]): string[] {
  return rows.map((row, i) => `${i === 0 ? promptBegins : ''}${row}${i === rows.length - 1 ? outputBegins : ''}`)
}

const promptBegins = '\x1b]133;A\x1b\\'
const outputBegins = '\x1b]133;C\x1b\\'
