import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { type RemoteCompletions, visibleName } from '../libero.ts'
import { useSessionScreen } from './session-context.ts'

export interface CompletionProps {
  readonly field: HTMLTextAreaElement
  readonly text: string
  readonly onChoose: (from: number, to: number, by: string) => void
}

/** Files after `@`, commands after `/`, as the server knows them. The list takes the keys of the field while it is shown. */
export function Completion({ field, text, onChoose }: CompletionProps) {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const [found, setFound] = useState<RemoteCompletions & { readonly of: string }>()
  const [at, setAt] = useState(0)
  const close = (): void => setFound(undefined)
  useEffect(() => {
    let isCurrent = true
    const timer = setTimeout(() => {
      client.sessions.completions(session.id, text, field.selectionStart).then(
        (answer) => {
          if (!isCurrent) return
          setFound(answer.items.length > 0 ? { ...answer, items: answer.items.slice(0, 10), of: text } : undefined)
          setAt(0)
        },
        close, // this server has no folder to look into
      )
    }, 80)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  /** It was found for another text, where its place may be another: the list of the present text is on its way. */
  const isOld = (): boolean => found?.of !== field.value
  const choose = (by: string): void => {
    if (isOld()) return
    onChoose(found!.from, found!.to, by)
    close()
  }
  useEffect(() => {
    if (!found) return
    const press = (event: KeyboardEvent): void => {
      if (event.isComposing) return
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step !== undefined) setAt((at + step + found.items.length) % found.items.length)
      else if (event.key === 'Escape') close()
      else if (isOld()) return
      else if (event.key === 'Tab' || (event.key === 'Enter' && !event.shiftKey)) choose(found.items[at]!.text)
      else return
      event.preventDefault()
      event.stopPropagation()
    }
    const attributes = {
      ...{ role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'completions', 'aria-autocomplete': 'list' },
      'aria-activedescendant': `completion-${at}`,
    }
    for (const [name, value] of Object.entries(attributes)) field.setAttribute(name, value)
    field.addEventListener('keydown', press, { capture: true }) // before the field sends or breaks a line
    field.addEventListener('blur', close)
    return () => {
      for (const name of Object.keys(attributes)) field.removeAttribute(name)
      field.removeEventListener('keydown', press, { capture: true })
      field.removeEventListener('blur', close)
    }
  }, [found, at])
  if (!found) return null
  return (
    <div id="completions" class="completions" role="listbox" aria-label="Completions">
      {found.items.map(({ text: item, label, detail }, i) => (
        <div
          key={item}
          id={`completion-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === at}
          // The field keeps the focus.
          onMouseDown={(event) => {
            event.preventDefault()
            choose(item)
          }}
        >
          <span class="one-line">{visibleName(label ?? item)}</span>
          {detail !== undefined && <span class="facts one-line">{visibleName(detail)}</span>}
        </div>
      ))}
    </div>
  )
}
