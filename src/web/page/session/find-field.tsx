import { useEffect, useRef } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import { useSessionScreen } from './session-context.ts'

/** The field of the search, how many rows have its words, and the way to the next. */
export function FindField() {
  const { find } = useSessionScreen()
  const { words, hits, at } = useModel(find)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') find.next(event.shiftKey ? 1 : -1)
    else if (event.key === 'Escape') find.close()
    else return
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
        onInput={(event) => find.search(event.currentTarget.value)}
        onKeyDown={press}
      />
      <span class="facts" role="status">
        {words.trim() === '' ? '' : hits.length === 0 ? 'none' : `${at + 1} of ${hits.length}`}
      </span>
      <button
        type="button"
        class="quiet"
        aria-label="Hit before"
        disabled={hits.length === 0}
        onClick={() => find.next(-1)}
      >
        ↑
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="Next hit"
        disabled={hits.length === 0}
        onClick={() => find.next(1)}
      >
        ↓
      </button>
      <button type="button" class="quiet" aria-label="Close the search" onClick={() => find.close()}>
        ✕
      </button>
    </search>
  )
}
