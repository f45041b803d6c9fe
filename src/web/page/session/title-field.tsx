import { useEffect, useRef } from 'preact/hooks'

export interface TitleFieldProps {
  readonly title: string
  /** With the new title, or without one if the old one stays. */
  readonly onEnd: (title?: string) => void
}

/** The title as a field: Enter, or leaving it, keeps the new title, Esc the old one. */
export function TitleField({ title, onEnd }: TitleFieldProps) {
  const field = useRef<HTMLInputElement>(null)
  const isOver = useRef(false)
  useEffect(() => field.current?.select(), [])
  /** Once: a field that goes loses the focus, and so comes here again. */
  const end = (text?: string): void => {
    if (isOver.current) return
    isOver.current = true
    onEnd(text === '' || text === title ? undefined : text)
  }
  return (
    <input
      ref={field}
      class="title-field"
      aria-label="Title"
      defaultValue={title}
      maxLength={200}
      onBlur={(event) => end(event.currentTarget.value.trim())}
      onKeyDown={(event) => {
        if (event.isComposing) return
        if (event.key === 'Enter') end(event.currentTarget.value.trim())
        if (event.key !== 'Escape') return
        event.preventDefault()
        end()
      }}
    />
  )
}
