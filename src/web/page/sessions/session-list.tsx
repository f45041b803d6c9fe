import { useCallback, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Virtualizer } from 'virtua'
import type { RemoteSession } from '../libero.ts'
import { groupSessions } from './session-groups.ts'
import { SessionRow } from './session-row.tsx'

interface SessionListProps {
  readonly sessions: readonly RemoteSession[]
  readonly isGrouped: boolean
  readonly onTag: (tag: string) => void
}

type Item = RemoteSession | { readonly heading: string }

/** Any number of sessions, of which only those in sight are in the document. */
export function SessionList({ sessions, isGrouped, onTag }: SessionListProps) {
  const items = useMemo(() => (isGrouped ? withHeadings(sessions) : sessions), [sessions, isGrouped])
  const [open, setOpen] = useState<string>()
  const frame = useRef<HTMLDivElement>(null)
  const screen = useRef(document.getElementById('screen'))
  const [above, setAbove] = useState(0)
  useLayoutEffect(() => {
    const { top } = frame.current!.getBoundingClientRect()
    setAbove(Math.round(top - screen.current!.getBoundingClientRect().top + screen.current!.scrollTop))
  })
  const draw = useCallback(
    (item: Item) =>
      'heading' in item ? (
        <h2 key={item.heading}>{item.heading}</h2>
      ) : (
        <SessionRow key={item.id} session={item} isOpen={item.id === open} onOpen={setOpen} onTag={onTag} />
      ),
    [open],
  )
  // What the person writes about a session stays when it is scrolled out of sight.
  const kept = items.findIndex((item) => 'id' in item && item.id === open)
  return (
    <div ref={frame} class="session-items">
      <Virtualizer
        {...{ as: 'ul', item: 'li', data: items, scrollRef: screen, startMargin: above, itemSize: 40 }}
        {...(kept >= 0 && { keepMounted: [kept] })}
      >
        {draw as never /* virtua names the elements of React, which these stand for */}
      </Virtualizer>
    </div>
  )
}

const withHeadings = (sessions: readonly RemoteSession[]): readonly Item[] =>
  groupSessions(sessions, Date.now()).flatMap(({ name, sessions: some }) => [{ heading: name }, ...some])
