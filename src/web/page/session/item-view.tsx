import type { CallRow, Row } from '../libero.ts'
import { useModel } from '../model/model.ts'
import type { RowItem } from '../model/row-items.ts'
import { AnswerView } from './answer-view.tsx'
import { CallGroup } from './call-group.tsx'
import { CallView } from './call-view.tsx'
import { MessageView } from './message-view.tsx'
import { CompactionView, NoticeView } from './notice-view.tsx'
import { QueuedView } from './queued-view.tsx'
import { useSessionScreen } from './session-context.ts'
import type { TailItem } from './tail-items.ts'

/** An item of the conversation. Each one follows its own rows, so that a change draws only what changed. */
export function ItemView({ item }: { readonly item: RowItem | TailItem }) {
  if (!('rows' in item)) return <QueuedView item={item} />
  return item.rows.length > 1 ? <GroupOf indexes={item.rows} /> : <RowAt index={item.rows[0]!} />
}

function RowAt({ index }: { readonly index: number }) {
  const { session } = useSessionScreen()
  const row = useModel(session, ({ view }) => view.rows.at(index))
  const sentFrom = useModel(session, (state) => state.sentFrom)
  if (!row) return null
  const isFaded = row.seq <= sentFrom && row.kind !== 'compaction'
  return (
    <div
      class="row"
      data-faded={isFaded}
      title={isFaded ? 'No longer sent to the model: a summary stands for it' : undefined}
    >
      <RowView row={row} />
    </div>
  )
}

export function RowView({ row }: { readonly row: Row }) {
  switch (row.kind) {
    case 'message':
      return <MessageView row={row} />
    case 'answer':
      return <AnswerView row={row} />
    case 'call':
      return <CallView row={row} />
    case 'notice':
      return <NoticeView row={row} />
    case 'compaction':
      return <CompactionView row={row} />
  }
}

function GroupOf({ indexes }: { readonly indexes: readonly number[] }) {
  const { session } = useSessionScreen()
  const rows = useModel(session, ({ view }) => view.rows)
  const sentFrom = useModel(session, (state) => state.sentFrom)
  const calls = indexes.map((index) => rows.at(index)).filter((row): row is CallRow => row?.kind === 'call')
  const [first] = calls
  if (!first) return null
  return (
    <div class="row" data-faded={first.seq <= sentFrom}>
      <CallGroup calls={calls} />
    </div>
  )
}
