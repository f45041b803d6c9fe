import type { CompactionRow } from '../libero.ts'
import { Markdown } from '../parts/markdown.tsx'
import { textOf } from './message-view.tsx'
import { EntryLink } from './notice-view.tsx'
import { useOpened } from './session-context.ts'

export interface CompactionViewProps {
  readonly row: CompactionRow
}

/** The line above which requests have a summary. */
export function CompactionView({ row: { id, summary, seq } }: CompactionViewProps) {
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
