import { useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { type ChildView, callTitle, pluralize, type Row, visibleName, visibleText } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { Markdown } from '../parts/markdown.tsx'
import { dollars } from '../parts/numbers.ts'
import { CallLine } from './call-line.tsx'
import { isReplay } from './is-replay.ts'
import { textOf } from './message-view.tsx'
import { useOpened, useSessionScreen } from './session-context.ts'

/** The sub-agents that work for a call, each with what it does; opened, with its rows, the last ones first. */
export function Children({ callId }: { readonly callId: string }) {
  const { session } = useSessionScreen()
  const children = useModel(session, ({ view }) => view.children)
  const own = children.filter((child) => child.callId === callId)
  if (own.length === 0) return null
  return (
    <div class="nested">
      {own.map((child, i) => (
        <Child key={child.id} child={child} number={i + 1} />
      ))}
    </div>
  )
}

function Child({ child, number }: { readonly child: ChildView; readonly number: number }) {
  const [isOpen, toggle] = useOpened(`child.${child.id}`)
  const { id, isOver, view } = child
  const [shown, setShown] = useState(isReplay ? Number.POSITIVE_INFINITY : 30)
  const earlier = view.rows.length - shown
  const { calls, cost = 0 } = view.usage
  return (
    <div class="child">
      <div class="child-head">
        <CallLine
          mark={view.status === 'waiting' ? 'waits' : isOver ? 'done' : 'works'}
          name={view.run?.agent ?? `agent ${number}`}
          what={activityOf(view.rows.slice(-12))}
          facts={[pluralize(calls, 'reply'), cost > 0 ? dollars(cost) : undefined]}
          isOpen={isOpen}
          onToggle={toggle}
        />
        {!isReplay && (
          <Link to={{ screen: 'session', id, part: 'chat' }} class="quiet-link">
            Open
          </Link>
        )}
      </div>
      {isOpen && (
        <div class="nested">
          {earlier > 0 && (
            <button type="button" class="quiet" onClick={() => setShown(shown + 200)}>
              {pluralize(earlier, 'earlier row')}
            </button>
          )}
          {view.rows.slice(-shown).map((row) => (
            <ChildRow key={row.id} row={row} />
          ))}
        </div>
      )}
    </div>
  )
}

/** Short: the session of the sub-agent has the rest. */
function ChildRow({ row }: { readonly row: Row }) {
  switch (row.kind) {
    case 'message':
      return <p class="child-row">{`› ${visibleText(textOf(row.content)).slice(0, 500)}`}</p>
    case 'answer':
      return row.text === '' ? null : <Markdown text={row.text} isOpen={row.isOpen === true} />
    case 'call':
      return (
        <p class="child-row one-line">
          {`${row.result ? (row.result.isError ? '✗' : '✓') : '·'} ${visibleName(row.name)} ${callTitle(row.input, '')}`}
        </p>
      )
    default:
      return null
  }
}

/** Its last call, or the end of what it says. */
function activityOf(rows: readonly Row[]): string {
  for (const row of rows.toReversed()) {
    if (row.kind === 'call') return `${visibleName(row.name)} ${callTitle(row.input, '')}`
    const said = row.kind === 'answer' ? row.text || row.thinking : ''
    if (said !== '') return visibleName(said.slice(-200))
  }
  return 'begins'
}
