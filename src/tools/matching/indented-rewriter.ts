import { indentBefore, indentOf, laterLinesIndentation } from './indentation.ts'
import { rewriteLines } from './rewrite.ts'
import { type EditTexts, endingsIn, splitKeepingEndings, withLfEndings } from './text-lines.ts'

/**
 * A function that gives the new text for each match. That text has the line endings of the file. If the old text is one line, the
 * later lines of the new text get the indentation of the match if they lack it. The function must be called in the order of the
 * matches.
 */
export function indentedRewriter(text: string, edit: EditTexts) {
  const newTextAt = endingsRewriter(text, edit)
  const { newLines } = edit
  const isUnindented = /^\S/.test(edit.old)
  const isOneLine = edit.oldLines.length === 1
  return (start: number, end: number): { text: string; indentation: ReturnType<typeof laterLinesIndentation> } => {
    const newText = newTextAt(start, end)
    const indent = isUnindented ? indentBefore(text, start) : ''
    if (indent === '') return { text: newText, indentation: 'as written' }
    // The first line of the new text includes the indentation that the old text leaves out.
    if (indentOf(newLines[0]!) === indent) return { text: newText.slice(indent.length), indentation: 'as written' }
    const indentation = isOneLine ? laterLinesIndentation({ old: edit.old, newLines, indent }) : 'as written'
    if (indentation !== 'indented') return { text: newText, indentation }
    return { text: newText.replace(/(\r\n|\r|\n)(?=[^\r\n])/g, `$1${indent}`), indentation }
  }
}

/** The new text for each match, with the line endings of the file there. */
function endingsRewriter(text: string, edit: EditTexts): (start: number, end: number) => string {
  const { oldLines, newLines } = edit
  // If only the line endings differ, use the new text verbatim.
  if (oldLines.join('\n') === withLfEndings(edit.new)) return () => edit.new
  if (newLines.length === 1) return () => edit.new
  if (!text.includes('\r')) {
    const newText = text.includes('\n') ? newLines.join('\n') : edit.new
    return () => newText
  }
  const endingAt = endingsIn(text)
  let last: { readonly match: string; readonly ending: string; readonly newText: string } | undefined
  return (start, end) => {
    // If the match begins or ends inside a \r\n pair, the model edits the \r or \n itself: new_string is used verbatim.
    if (isInsideCrlf(text, start) || isInsideCrlf(text, end)) return edit.new
    const match = text.slice(start, end)
    const ending = endingAt(end) ?? '\n'
    // Most matches are like the one before.
    if (last?.match !== match || last.ending !== ending)
      last = {
        match,
        ending,
        newText: rewriteLines({ inFile: splitKeepingEndings(match), oldLines, newLines, ending })!,
      }
    return last.newText
  }
}

const isInsideCrlf = (text: string, at: number): boolean => text[at - 1] === '\r' && text[at] === '\n'
