import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Virtualizer, type VirtualizerHandle } from 'virtua'
import { Link } from '../frame/link.tsx'
import { useModel } from '../model/model.ts'
import { itemAt, type RowItem } from '../model/row-items.ts'
import { rowOfEntry } from '../model/row-of-entry.ts'
import type { SessionModel } from '../model/session-model.ts'
import { Guard } from '../parts/guard.tsx'
import { flushSync, memo } from '../parts/react.ts'
import { ItemView } from './item-view.tsx'
import { useSessionScreen } from './session-context.ts'
import { type TailItem, tailOf } from './tail-items.ts'

type Item = RowItem | TailItem

/** The conversation: all of its rows, of which only those in sight are in the document. It follows its end only at its end. */
export function RowList({ seq }: { readonly seq: number | undefined }) {
  const { session, find } = useSessionScreen()
  const rows = useModel(session, ({ items }) => items)
  const queue = useModel(session, ({ view }) => view.queue)
  const sending = useModel(session, ({ sending }) => sending)
  const isWhole = useModel(session, (state) => state.isWhole)
  const hit = useModel(find, ({ hits, at }) => hits[at])
  const items: readonly Item[] = queue.length + sending.length === 0 ? rows : [...rows, ...tailOf(queue, sending)]
  const scroller = useRef<HTMLDivElement>(null)
  const content = useRef<HTMLDivElement>(null)
  const list = useRef<VirtualizerHandle>(null)
  const [isAtEnd, setAtEnd] = useState(true)
  const follows = useFollowing(scroller, content, setAtEnd)
  const isPrepended = useWasPrepended(items)
  const marked = useMarkedRow(session, seq, isWhole)
  // What a person does on a card that waits stays while the card is out of sight.
  const firstOpen = useModel(session, ({ view }) => view.fold.open.values().next().value)
  const open = useMemo(
    () => (firstOpen === undefined ? [] : rows.flatMap((item, i) => (item.rows.at(-1)! >= firstOpen ? [i] : []))),
    [rows, firstOpen],
  )

  const show = (row: number): void => {
    follows.current = false
    list.current?.scrollToIndex(itemAt(session.state.items, row), { align: 'center' })
  }
  useEffect(() => {
    if (hit !== undefined) show(hit)
  }, [hit])
  /** Once for each address: when the whole is read, the index of the row is another, and the person may have scrolled. */
  const shownSeq = useRef<number>(undefined)
  useEffect(() => {
    if (marked !== undefined && shownSeq.current !== seq) show(marked)
    shownSeq.current = marked === undefined ? undefined : seq
  }, [marked, seq])

  const toEnd = (): void => {
    follows.current = true
    setAtEnd(true)
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  }
  const count = items.length
  const isPrinting = usePrinting()
  const draw = useCallback(
    (item: Item, index: number) => (
      <Slot
        key={item.key}
        item={item}
        index={index}
        count={count}
        isMarked={'rows' in item && (item.rows.includes(marked ?? -1) || item.rows.includes(hit ?? -1))}
      />
    ),
    [count, marked, hit],
  )
  return (
    <div class="conversation-frame">
      <div
        ref={scroller}
        class="conversation"
        role="feed"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled with the keyboard
        tabIndex={0}
      >
        <div ref={content} class="conversation-content">
          {isPrinting ? (
            items.slice(-mostPrinted).map((item, i) => draw(item, Math.max(0, items.length - mostPrinted) + i))
          ) : (
            <Virtualizer
              ref={list}
              scrollRef={scroller}
              data={items}
              shift={isPrepended}
              keepMounted={open}
              onResize={follows.onResize}
            >
              {draw as never /* virtua names the elements of React, which these stand for */}
            </Virtualizer>
          )}
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" onClick={toEnd}>
          ↓ Latest
        </button>
      )}
    </div>
  )
}

/** Paper has no scroll bar: there all rows stand, or so many of the last ones. */
const mostPrinted = 2000

function usePrinting(): boolean {
  const [isPrinting, setPrinting] = useState(false)
  useEffect(() => {
    // At once: the browser takes its picture when the event is over.
    const begin = (): void => flushSync(() => setPrinting(true))
    const end = (): void => setPrinting(false)
    addEventListener('beforeprint', begin)
    addEventListener('afterprint', end)
    return () => {
      removeEventListener('beforeprint', begin)
      removeEventListener('afterprint', end)
    }
  }, [])
  return isPrinting
}

interface SlotProps {
  readonly item: Item
  readonly index: number
  readonly count: number
  readonly isMarked: boolean
}

const Slot = memo(function Slot({ item, index, count, isMarked }: SlotProps) {
  return (
    <article class="slot" aria-posinset={index + 1} aria-setsize={count} data-key={item.key} data-marked={isMarked}>
      <Guard what="entry" of={item} instead={'rows' in item ? () => <RawEntry row={item.rows[0]!} /> : undefined}>
        <ItemView item={item} />
      </Guard>
    </article>
  )
})

function RawEntry({ row }: { readonly row: number }) {
  const { session } = useSessionScreen()
  const seq = session.state.view.rows.at(row)?.seq
  if (seq === undefined) return null
  return <Link to={{ screen: 'session', id: session.id, part: 'log', seq }}>{`Entry ${seq} of the log`}</Link>
}

/**
 * Keeps the end in sight while it is in sight: a person who scrolls up is left alone. What grows, or a list that gets less
 * room, is followed before the picture is drawn.
 */
function useFollowing(
  scroller: { readonly current: HTMLElement | null },
  content: { readonly current: HTMLElement | null },
  onChange: (isAtEnd: boolean) => void,
): { current: boolean; readonly onResize: () => void } {
  const follows = useRef({
    current: true,
    /** The rows were measured. The list gets its height in the next microtasks, still before the picture is drawn. */
    onResize(): void {
      if (!follows.current) return
      void Promise.resolve()
        .then(() => {})
        .then(() => {
          const view = scroller.current
          if (view && follows.current) view.scrollTop = view.scrollHeight
        })
    },
  }).current
  useLayoutEffect(() => {
    const view = scroller.current!
    let { scrollTop: top, scrollHeight: height } = view
    const look = (): void => {
      const isNear = view.scrollHeight - view.clientHeight - view.scrollTop <= nearEnd
      // A list whose height changed may have moved by itself.
      const isMovedUp = view.scrollTop < top - 1 && view.scrollHeight === height
      if (isNear) follows.current = true
      else if (isMovedUp) follows.current = false
      else if (follows.current) view.scrollTop = view.scrollHeight
      top = view.scrollTop
      height = view.scrollHeight
      onChange(isNear || follows.current)
    }
    const grown = new ResizeObserver(() => {
      if (follows.current) view.scrollTop = view.scrollHeight
      else look()
    })
    view.addEventListener('scroll', look, { passive: true })
    grown.observe(view)
    grown.observe(content.current!)
    return () => {
      view.removeEventListener('scroll', look)
      grown.disconnect()
    }
  }, [])
  return follows
}

const nearEnd = 24

/** Whether rows were added before those that were there, and none behind them: the rows in sight then stay in their place. */
function useWasPrepended(items: readonly Item[]): boolean {
  const before = useRef(items)
  const old = before.current
  before.current = items
  if (old === items || old.length === 0 || items.length <= old.length) return false
  return old[0]!.key !== items[0]!.key && old.at(-1)!.key === items.at(-1)!.key
}

/** The index of the row that an address names by an entry, once it was read. */
function useMarkedRow(session: SessionModel, seq: number | undefined, isWhole: boolean): number | undefined {
  const [marked, setMarked] = useState<number>()
  useEffect(() => {
    if (seq === undefined) return setMarked(undefined)
    const { rows } = session.state.view
    const first = rows.at(0)
    if (isWhole || (first && first.seq <= seq)) setMarked(rowOfEntry(rows, seq))
  }, [seq, isWhole, session])
  return marked
}
