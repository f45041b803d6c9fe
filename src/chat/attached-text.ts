/** A file as a part of a message. */
export const attachedText = (path: string, text: string): string => `The file ${path}:\n${fenced(text)}`

/** The parts of a message without its attached files: what the person wrote, and what goes back into an input. */
export function withoutAttached<Part extends { readonly type: string; readonly text?: string }>(
  parts: readonly Part[],
): readonly Part[] {
  return parts.filter(({ text }, i) => i === 0 || text === undefined || !isAttached.test(text))
}

/** The path of a part that `attachedText` made. */
export const attachedPath = (text: string): string | undefined => isAttached.exec(text)?.[1]

const isAttached = /^The file ([^\n]+):\n`{3,}\n/

/** A text in a fence that it does not contain. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}`
}
