import { callTitle } from '../../chat/call-title.ts'
import { fullyVisible, visibleName, visibleText } from '../../platform/visible-text.ts'
import type { AgentInstanceMessage } from '../../plugins/message.ts'
import { formatDate } from '../../tui/rows/format.ts'
import type { Paint } from '../../tui/terminal/paint.ts'
import { cutToWidth } from '../../tui/terminal/text-width.ts'
import { isUserMessage, messageName } from './find-message.ts'

const fewLines = 8

interface MessageStyle {
  readonly paint: Paint
  readonly cwd: string
  /** Show results of tools in full. */
  readonly isFull: boolean
}

/** The lines of a message for a terminal; none for a hidden one. */
export function messageLines(message: AgentInstanceMessage, { paint, cwd, isFull }: MessageStyle): string[] {
  const { id, role, content, hidden, created = 0, metadata = {} } = message
  if (hidden && !isFull) return []
  const named = isUserMessage(message) ? `, ${messageName(id)}` : ''
  const head = (name: string): string => `${paint.bold(name)}${paint.dim(`, ${formatDate(created)}${named}`)}`
  const lines = content === '' ? [] : visibleText(content).trimEnd().split('\n')
  if (role === 'user') return ['', head(paint.green('You')), ...lines, ...attached(message).map(paint.dim)]
  if (role === 'error') return ['', head(paint.red('Failed')), ...lines.map(paint.yellow)]
  if (role === 'agent') return ['', ...lines.map(paint.yellow)]
  if (role === 'tool') {
    const mark = metadata.isError ? paint.red('✗') : paint.green('✓')
    const few = isFull ? lines : lines.slice(0, fewLines)
    const more = lines.length > few.length ? [paint.dim(`    … ${lines.length - few.length} more lines (--full)`)] : []
    return [
      `  ${mark} ${paint.bold(fullyVisible(metadata.toolId ?? ''))}`,
      ...few.map((line) => `    ${line}`),
      ...more,
    ]
  }
  const calls = (metadata.calls ?? []).map(
    ({ toolId: name, parameters: input }) => `  ${callLine({ name, input }, { paint, cwd, isFull })}`,
  )
  return ['', head(paint.blue('Agent')), ...lines, ...calls]
}

/** A message and its date on one line. */
export function messageTitle({ id, content, created = 0 }: AgentInstanceMessage): string {
  return `  ${messageName(id)}  ${formatDate(created)}  ${cutToWidth(visibleName(content.replace(/\s+/g, ' ')), 80)}`
}

/** A tool call on one line. */
export function callLine(
  { name, input }: { readonly name: string; readonly input: Readonly<Record<string, unknown>> },
  { paint, cwd, isFull }: MessageStyle,
): string {
  const title = cutToWidth(fullyVisible(callTitle(input, cwd)), isFull ? 1000 : 100)
  return `${paint.cyan('•')} ${paint.bold(fullyVisible(name))} ${title}`
}

function attached({ metadata: { file, wikiTiddlers = [], rolledBack } = {} }: AgentInstanceMessage): string[] {
  return [
    ...(file ? [`[${fullyVisible(file.mediaType)}]`] : []),
    ...wikiTiddlers.map((page) => `[${fullyVisible(page.workspaceName)}/${fullyVisible(page.tiddlerTitle)}]`),
    ...(rolledBack ? ['[its file changes were undone]'] : []),
  ]
}
