import { oneLine } from '../../core/text.ts'
import type { CallResult } from './conversation.ts'

/** The text of a file as a tool showed it, without line numbers and notes. */
interface ShownFile {
  readonly lines: readonly string[]
  /** Not all of the file was shown. */
  readonly isPart: boolean
}

/** Reads a file's content from the result of a read tool. */
export function fileIn({ text }: Pick<CallResult, 'text'>): ShownFile {
  if (text === '(empty file)') return { lines: [], isPart: false }
  const { body, notes } = withoutNotes(withoutFooter(text))
  const lines = body.split('\n')
  const isNumbered = lines.every((line) => /^\d{1,9}\t/.test(line))
  const isPart = /re-read with|more follow|only its first/.test(notes)
  const shown = isNumbered ? lines.map((line) => line.slice(line.indexOf('\t') + 1)) : lines
  if (!isNumbered && shown.at(-1) === '') shown.pop()
  return { lines: shown, isPart }
}

/** The entries of a listing or a search, without the notes below them. */
export function entriesIn({ text }: Pick<CallResult, 'text'>): string[] {
  const { body } = withoutNotes(withoutFooter(text))
  return body.split('\n').filter((line) => line.trim() !== '')
}

/** The note in parentheses at the end of a result. */
function withoutNotes(text: string): { body: string; notes: string } {
  const at = text.lastIndexOf('\n\n(')
  if (at < 0 || !text.endsWith(')')) return { body: text, notes: '' }
  return { body: text.slice(0, at), notes: text.slice(at + 3, -1) }
}

interface CommandEnd {
  /** Undefined if unknown. */
  readonly exitCode?: number
  readonly output: string
}

/** The exit code and the output of a command. */
export function endOf({ text, isError }: Pick<CallResult, 'text' | 'isError'>): CommandEnd {
  // The last match counts: the ones above it were printed by the program.
  const last = [...text.slice(-400).matchAll(endings)].at(-1)
  const output = withoutFooter(text)
  if (last?.[1] !== undefined) return { exitCode: Number(last[1]), output }
  if (last) return { exitCode: killedCode, output: text }
  return isError ? { output: text } : { exitCode: 0, output }
}

const endings = /^[([](?:exit (?:code )?(-?\d{1,3})\b|timed out after\b|killed\b)/gm

/** The exit code of a killed command in shells. */
const killedCode = 137

/** Without `(exit 0, 12ms)` at the end, and without zot's `$ command` at the start. */
function withoutFooter(text: string): string {
  const at = Math.max(text.lastIndexOf('\n(exit '), text.lastIndexOf('\n[exit '))
  const head = at >= 0 && text.length - at < 500 ? text.slice(0, at) : text
  return head.startsWith('$ ') && head.includes('\n') ? head.slice(head.indexOf('\n') + 1) : head
}

/** The reason if a call was denied. */
export function denialIn({ text, isError }: Pick<CallResult, 'text' | 'isError'>): string | undefined {
  if (!isError) return undefined
  const denied = /^(?:Blocked|Denied|Skipped|Aborted)\b:? ?/.exec(text)
  if (!denied) return undefined
  const reason = text.slice(denied[0].length).replace(/^[A-Z]\w{2,40}\/\w{2,40}: /, '')
  return brief(reason === '' ? text : reason, 200)
}

/** The beginning of a text, on one line. */
export const brief = (text: string, max: number): string => oneLine(text.slice(0, max * 4), max)

/** A text as a code block, with a fence that it does not contain. */
export function fenced(text: string): string {
  let fence = '```'
  while (text.includes(fence)) fence += '`'
  return `${fence}\n${text}\n${fence}`
}

/** A text in backticks, on one line. */
export function code(text: string): string {
  const line = brief(text, 120)
  return line.includes('`') ? `“${line}”` : `\`${line}\``
}

export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`
