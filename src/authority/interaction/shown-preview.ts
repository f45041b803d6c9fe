import type { FilePreview, ToolPreview } from '../../core/tool.ts'
import type { Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { maskSecrets } from './mask-secrets.ts'

/** A tool's preview, fit for a question that is kept in a log and sent to screens: bounded, harmless, without secrets. */
export function shownPreview({ files }: ToolPreview, redactor: Redactor | undefined): ToolPreview {
  return { files: files.slice(0, mostFiles).map((file) => shownFile(file, redactor)) }
}

/** What would become of a file, on one line. */
export function changeHeading({ path, change, added, removed, diff }: FilePreview): string {
  const counts = added === undefined || removed === undefined ? '' : `: +${added} −${removed}`
  if (change === 'create') return `creates ${path}, a new file${counts}`
  if (diff === '') return `leaves ${path} as it is: it holds exactly this already`
  if (change === 'edit') return `edits ${path}${counts}`
  return `replaces all of ${path}, which exists${counts || '; what it holds cannot be compared'}`
}

const mostFiles = 20
const mostLines = 400
const mostChars = 32_768

function shownFile(file: FilePreview, redactor: Redactor | undefined): FilePreview {
  const { path, change, added, removed, diff, moreLines = 0 } = file
  const counts = { ...(added !== undefined && { added }), ...(removed !== undefined && { removed }) }
  const about = { path: fullyVisible(path), change, ...counts }
  if (diff === undefined) return about
  const lines = bodyOf(diff)
  const shown = firstLines(lines)
  const left = lines.length - shown.length + moreLines
  return { ...about, diff: harmless(shown.join('\n'), redactor), ...(left > 0 && { moreLines: left }) }
}

/** A text from outside without its secrets, and with its control characters visible; newlines stay. */
export function harmless(text: string, redactor: Redactor | undefined): string {
  const masked = redactor ? maskSecrets(text, redactor) : text
  return fullyVisible(masked, { lines: 'kept' })
}

/** From the first hunk on: the name of the file stands beside it. */
function bodyOf(diff: string): readonly string[] {
  const lines = diff.replace(/\n$/, '').split('\n')
  const first = lines.findIndex((line) => line.startsWith('@@'))
  return first < 0 ? [] : lines.slice(first)
}

function firstLines(lines: readonly string[]): string[] {
  const shown: string[] = []
  let chars = 0
  for (const line of lines.slice(0, mostLines)) {
    chars += line.length + 1
    if (chars > mostChars) break
    shown.push(line)
  }
  return shown
}
