import { useEffect, useRef } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import type { Row, SessionView } from '../libero.ts'
import { useModel } from '../model/model.ts'
import { itemAt } from '../model/row-items.ts'
import { rowOfEntry } from '../model/row-of-entry.ts'
import { rowsWith } from '../model/rows-with.ts'
import { takeTyped } from '../parts/typed-ahead.ts'
import { noFind, useSessionScreen } from './session-context.ts'
import { useFindMarks } from './use-find-marks.ts'

/** The field of the search, how many rows have its words, and the way to the next. */
export function FindField() {
  const { client } = usePage()
  const { find, session } = useSessionScreen()
  const { words, hits, at } = useModel(find)
  const key = useModel(session, ({ items }) => (at < 0 ? undefined : items[itemAt(items, hits[at]!)]?.key))
  useFindMarks({ words, key })
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  /** The entries that the server found for some words. */
  const inLog = useRef({ words: '', seqs: [] as readonly number[] })
  const rowsWithAll = (rows: SessionView['rows'], text: string): readonly number[] => {
    const found = rowsWith(rows, text)
    if (inLog.current.words !== text.trim()) return found
    const more = inLog.current.seqs.map((seq) => rowOfEntry(rows, seq))
    return [...new Set([...found, ...more])].sort((a, b) => a - b)
  }
  /** The rows that were searched, to find the hit again in others. */
  const searched = useRef(session.state.view.rows)
  const search = (text: string): void => {
    const { rows } = session.state.view
    const found = rowsWithAll(rows, text)
    const here = text === words && at >= 0 ? searched.current.at(hits[at]!)?.id : undefined
    const same = here === undefined ? -1 : found.findIndex((index) => rows.at(index)!.id === here)
    searched.current = rows
    find.change({ words: text, hits: found, at: same >= 0 ? same : found.length - 1 })
  }
  // Rows come, also before those that were there, and an answer grows until its run is over.
  const count = useModel(session, ({ view }) => view.rows.length)
  const isOver = useModel(session, ({ view }) => view.run === undefined)
  useEffect(() => search(words + takeTyped()), [count, isOver])
  const latest = useRef({ words, search })
  latest.current = { words, search }
  // What the page keeps short is searched by the server.
  const isWhole = useModel(session, (state) => state.isWhole)
  useEffect(() => {
    const wanted = words.trim()
    const { rows } = session.state.view
    if (wanted.length < 3 || !isWhole || ![...rows].some((row) => entriesOf(row).some(session.isCut))) return
    const timer = setTimeout(async () => {
      const { hits: all } = await client.sessions.find(session.id, wanted, { limit: 100 }).catch(() => ({ hits: [] }))
      inLog.current = { words: wanted, seqs: all.map(({ seq }) => seq).filter(session.isCut) }
      if (inLog.current.seqs.length > 0 && latest.current.words === words) latest.current.search(words)
    }, 300)
    return () => clearTimeout(timer)
  }, [words, isWhole, count])
  const next = (step: 1 | -1): void => {
    if (hits.length > 0) find.change({ at: (at + step + hits.length) % hits.length })
  }
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return
    next(event.shiftKey ? 1 : -1)
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <search class="find-bar">
      <input
        ref={field}
        id="find"
        type="search"
        aria-label="Find in this session"
        placeholder="Find in this session"
        value={words}
        onInput={(event) => search(event.currentTarget.value)}
        onKeyDown={press}
      />
      <span class="facts" role="status">
        {words.trim() === '' ? '' : hits.length === 0 ? 'none' : `${at + 1} of ${hits.length}`}
      </span>
      <button type="button" class="quiet" aria-label="Hit before" disabled={hits.length === 0} onClick={() => next(-1)}>
        ↑
      </button>
      <button type="button" class="quiet" aria-label="Next hit" disabled={hits.length === 0} onClick={() => next(1)}>
        ↓
      </button>
      <button type="button" class="quiet" aria-label="Close the search" onClick={() => find.set(noFind)}>
        ✕
      </button>
    </search>
  )
}

/** The entries that a row is made from. */
const entriesOf = (row: Row): readonly number[] =>
  row.kind === 'call' && row.result ? [row.seq, row.result.seq] : [row.seq]
