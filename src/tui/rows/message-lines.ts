import { isShellLine } from '../../chat/shell-line-meta.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { visibleText } from '../../platform/visible-text.ts'
import type { MessageRow } from '../../view/rows.ts'
import { pluralize } from './format.ts'

/** What a message shows in the scrollback: its own text, with long pastes and attached files folded. Ctrl+T shows it whole. */
export function messageText(row: Pick<MessageRow, 'content' | 'isNote' | 'meta'>): string {
  const [own, ...attached] = row.content.map(blockText)
  const text = row.isNote && isShellLine(row) ? forPerson(withoutHead(own ?? '')) : (own ?? '')
  return [folded(text, mostOwn), ...attached.map((more) => folded(more, mostAttached))].join('\n')
}

const mostOwn = 20
/** An attached file is named by its first line. */
const mostAttached = 1

function folded(text: string, most: number): string {
  const lines = visibleText(text).replaceAll('\r', '').trimEnd().split('\n')
  // A fold that hides one line saves none.
  if (lines.length <= most + 1) return lines.join('\n')
  return [...lines.slice(0, most), `… ${pluralize(lines.length - most, 'line')} more; ctrl+t shows them`].join('\n')
}

/** The output of a `!` line begins with words for the model. */
const withoutHead = (text: string): string => text.slice(text.indexOf('\n') + 1)

/** Without the code of an error, which is for programs. */
const forPerson = (text: string): string => text.replace(/^Blocked: (?:\w+\/\w+: )?/, 'Not allowed: ')

const blockText = (block: SessionContentBlock): string => (block.type === 'text' ? block.text : `[${block.type}]`)
