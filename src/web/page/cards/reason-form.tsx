import { useEffect, useRef } from 'preact/hooks'

interface ReasonFormProps {
  readonly label: string
  readonly button: string
  readonly isActive: boolean
  readonly onSend: (reason: string) => void
}

/** A text for the model that goes with a refusal. Ctrl+Enter sends it. */
export function ReasonForm({ label, button, isActive, onSend }: ReasonFormProps) {
  const text = useRef<HTMLTextAreaElement>(null)
  useEffect(() => text.current?.focus(), [])
  const send = (event: Event): void => {
    event.preventDefault()
    onSend(text.current!.value.trim())
  }
  return (
    <form class="reason-form" onSubmit={send}>
      <label>
        {label}
        <textarea
          ref={text}
          rows={2}
          onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && send(event)}
        />
      </label>
      <button type="submit" class="deny" disabled={!isActive}>
        {button}
      </button>
    </form>
  )
}
