/** A file as a part of a message. */
export const attachedText = (path: string, text: string): string => `The file ${path}:\n${fenced(text)}`

/** The parts of a message without its attached files: what the person wrote, and what goes back into an input. */
export function withoutAttached<Part extends { readonly type: string; readonly text?: string }>(
  parts: readonly Part[],
): readonly Part[] {
  return parts.filter(({ text }, i) => i === 0 || text === undefined || !isAttached.test(text))
}

const isAttached = /^The file [^\n]+:\n`{3,}\n/

/** A fence that the text does not contain. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`
}
