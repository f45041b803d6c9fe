import { useEffect, useRef } from 'preact/hooks'
import { useModel } from '../model/model.ts'
import { useSessionScreen } from './session-context.ts'

/** Ctrl+F: finds in all rows, also in those that are not in the document. Pressed again, the browser's own opens. */
export function FindBar() {
  const { find } = useSessionScreen()
  const { isOpen, words, hits, at } = useModel(find)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'f' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      if (find.state.isOpen && document.activeElement === field.current) {
        find.close()
        return
      }
      event.preventDefault()
      find.open()
      field.current?.select()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [find])
  useEffect(() => {
    if (isOpen) field.current?.focus()
  }, [isOpen])
  if (!isOpen) return null
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
