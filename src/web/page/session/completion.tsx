import { useEffect, useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteCompletions, visibleName } from '../libero.ts'
import { useSessionScreen } from './session-context.ts'

type Replace = (from: number, to: number, by: string) => void

interface Completion {
  readonly found: RemoteCompletions | undefined
  readonly at: number
  /** Asks for what fits at the caret, in a moment. */
  ask(): void
  close(): void
  /** Whether the key was for the list. */
  press(event: KeyboardEvent, replace: Replace): boolean
  readonly attributes: Readonly<Record<string, string | boolean>>
}

/** What may follow at the caret: files after `@`, commands after `/`, as the server knows them. */
export function useCompletion(text: string, caret: () => number): Completion {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const [found, setFound] = useState<RemoteCompletions>()
  const [at, setAt] = useState(0)
  const [asked, setAsked] = useState(0)
  const isOffered = useRef(true)
  useEffect(() => {
    const before = text.slice(0, caret())
    const isWanted = asked > 0 && isOffered.current && (/(?:^|\s)@[^\s@]*$/.test(before) || /^\/[^\n]*$/.test(before))
    if (!isWanted) return setFound(undefined)
    let isCurrent = true
    const timer = setTimeout(() => {
      client.sessions.completions(session.id, text, caret()).then(
        (answer) => {
          if (!isCurrent) return
          setFound(answer.items.length > 0 ? answer : undefined)
          setAt(0)
        },
        () => {
          isOffered.current = false // this server has no folder to look into
        },
      )
    }, 80)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [asked])
  const close = (): void => setFound(undefined)
  return {
    found,
    at,
    ask: () => setAsked((count) => count + 1),
    close,
    press(event, replace) {
      if (!found) return false
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step !== undefined) setAt((at + step + found.items.length) % found.items.length)
      else if (event.key === 'Tab' || (event.key === 'Enter' && !event.shiftKey)) {
        replace(found.from, found.to, found.items[at]!.text)
        close()
      } else if (event.key === 'Escape') close()
      else return false
      event.preventDefault()
      event.stopPropagation()
      return true
    },
    attributes: found
      ? {
          role: 'combobox',
          'aria-expanded': true,
          'aria-controls': 'completions',
          'aria-activedescendant': `completion-${at}`,
          'aria-autocomplete': 'list',
        }
      : {},
  }
}

interface CompletionListProps {
  readonly completion: Completion
  readonly onChoose: Replace
}

export function CompletionList({ completion: { found, at, close }, onChoose }: CompletionListProps) {
  if (!found) return null
  return (
    <div id="completions" class="completions" role="listbox" aria-label="Completions">
      {found.items.slice(0, 10).map(({ text, label, detail }, i) => (
        <div
          key={text}
          id={`completion-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === at}
          // The field keeps the focus.
          onMouseDown={(event) => {
            event.preventDefault()
            onChoose(found.from, found.to, text)
            close()
          }}
        >
          <span class="one-line">{visibleName(label ?? text)}</span>
          {detail !== undefined && <span class="facts one-line">{visibleName(detail)}</span>}
        </div>
      ))}
    </div>
  )
}
