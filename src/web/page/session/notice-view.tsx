import { type CompactionRow, type NoticeRow, visibleText } from '../libero.ts'
import { Markdown } from '../parts/markdown.tsx'
import { textOf } from './message-view.tsx'
import { useOpened } from './session-context.ts'

/** What happened to the session, in words. */
export function NoticeView({ row: { text, about, run } }: { readonly row: NoticeRow }) {
  const isBad = about === 'parked' || run?.status === 'error'
  return (
    <p class={isBad ? 'notice bad' : 'notice'}>
      <span class="mark" aria-hidden="true">
        {isBad ? '✗' : '·'}
      </span>
      {visibleText(text)}
    </p>
  )
}

/** The line above which requests have a summary. */
export function CompactionView({ row: { id, summary } }: { readonly row: CompactionRow }) {
  const [isOpen, toggle] = useOpened(id)
  return (
    <div class="compaction">
      <button type="button" class="fold" aria-expanded={isOpen} onClick={toggle}>
        <span class="mark" aria-hidden="true">
          ·
        </span>
        What is above is sent as a summary
      </button>
      {isOpen && <Markdown text={textOf(summary)} />}
    </div>
  )
}
