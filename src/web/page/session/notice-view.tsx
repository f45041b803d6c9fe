import { Link } from '../frame/link.tsx'
import { type CompactionRow, type NoticeRow, visibleText } from '../libero.ts'
import { Markdown } from '../parts/markdown.tsx'
import { textOf } from './message-view.tsx'
import { useOpened, useSessionScreen } from './session-context.ts'

/** What happened to the session, in words. */
export function NoticeView({ row: { text, about, run, seq } }: { readonly row: NoticeRow }) {
  const isBad = about === 'parked' || run?.status === 'error'
  return (
    <p class={isBad ? 'notice bad' : 'notice'}>
      <EntryLink seq={seq}>{isBad ? '✗' : '·'}</EntryLink>
      {visibleText(text)}
    </p>
  )
}

/** The mark of a row that has nothing else to press, as a link to it. */
function EntryLink({ seq, children }: { readonly seq: number; readonly children: string }) {
  const { session } = useSessionScreen()
  const label = `Link to entry ${seq}`
  return (
    <Link
      to={{ screen: 'session', id: session.id, part: 'chat', seq }}
      class="mark entry-link"
      aria-label={label}
      title={label}
    >
      {children}
    </Link>
  )
}

/** The line above which requests have a summary. */
export function CompactionView({ row: { id, summary, seq } }: { readonly row: CompactionRow }) {
  const [isOpen, toggle] = useOpened(id)
  return (
    <div class="compaction">
      <EntryLink seq={seq}>·</EntryLink>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={toggle}>
        What is above is sent as a summary
      </button>
      {isOpen && <Markdown text={textOf(summary)} />}
    </div>
  )
}
