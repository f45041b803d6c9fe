import { type MessageRow, pluralize, type SessionContentBlock, visibleText } from '../libero.ts'
import { lazy } from '../parts/lazy.tsx'
import { RelativeTime } from '../parts/relative-time.tsx'
import type { AttachedFileProps } from './attached-file.tsx'
import { writtenText } from './attached-files.ts'
import type { AttachmentProps } from './attachment.tsx'
import { RowActions } from './row-actions.tsx'
import { useOpened, useSessionScreen } from './session-context.ts'
import { useNear } from './use-near.ts'
import { useWholeEntry } from './use-whole-entry.ts'

const AttachedFile = lazy<AttachedFileProps>(async () => (await import('./attached-file.tsx')).AttachedFile)
const Attachment = lazy<AttachmentProps>(async () => (await import('./attachment.tsx')).Attachment)

/** A message to the model: of the person, or a note of the program. */
export function MessageView({ row }: { readonly row: MessageRow }) {
  const [isNear, near] = useNear()
  return (
    <div class={row.isNote ? 'message is-note' : 'message'} {...near}>
      <span class="mark" role="img" aria-label={row.isNote ? 'Note of the program' : 'You'}>
        {row.isNote ? '·' : '›'}
      </span>
      <MessageContent id={row.id} content={row.content} seq={row.seq} />
      <RowActions
        row={row}
        isNear={isNear}
        facts={() => (
          <span class="facts">
            {row.mode === 'steer' && 'steered · '}
            {row.at > 0 && <RelativeTime at={row.at} />}
          </span>
        )}
      />
    </div>
  )
}

interface MessageContentProps {
  readonly id: string
  readonly content: readonly SessionContentBlock[]
  /** The entry that has it, if the log has it. */
  readonly seq?: number
}

/** Its text, with what is long folded, and what is attached. */
export function MessageContent({ id, content, seq }: MessageContentProps) {
  const { session } = useSessionScreen()
  const [isOpen, toggle] = useOpened(`${id}.text`)
  const isCut = seq !== undefined && session.isCut(seq)
  const text = writtenText(content)
  const whole = useWholeEntry(isCut && isOpen ? seq : undefined)
  const lines = text.split('\n')
  const isLong = lines.length > mostLines + 2 || text.length > mostCharacters
  const shown =
    isOpen || !isLong ? (textOfEntry(whole) ?? text) : lines.slice(0, mostLines).join('\n').slice(0, mostCharacters)
  return (
    <div class="message-content">
      <p class="plain">{visibleText(shown)}</p>
      {isLong && (
        <button type="button" class="quiet" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? 'Show less' : `Show all: ${pluralize(lines.length, 'line')}`}
        </button>
      )}
      {content.map((block, i) =>
        block.type === 'image' || block.type === 'document' ? (
          <Attachment key={i} block={block} seq={seq} place={i} />
        ) : (
          i > 0 && block.type === 'text' && <AttachedFile key={i} id={`${id}.${i}`} text={block.text} />
        ),
      )}
    </div>
  )
}

const mostLines = 20
const mostCharacters = 4000

/** The text of all parts. */
export function textOf(content: readonly SessionContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n')
}

function textOfEntry(entry: ReturnType<typeof useWholeEntry>): string | undefined {
  if (entry?.type === 'turn') return writtenText(entry.turn.content)
  return entry?.type === 'input' ? writtenText(entry.content) : undefined
}
