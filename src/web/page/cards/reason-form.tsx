import { useEffect, useRef } from 'preact/hooks'
import { useKept } from '../parts/use-kept.ts'

interface ReasonFormProps {
  readonly label: string
  readonly button: string
  readonly isActive: boolean
  /** Under which the text is kept until it is sent. */
  readonly digest: string
  readonly onSend: (reason: string) => void
}

/** A text for the model that goes with a refusal. Ctrl+Enter sends it. */
export function ReasonForm({ label, button, isActive, digest, onSend }: ReasonFormProps) {
  const [text, setText] = useKept(`reason ${digest}`, '')
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  const send = (event: Event): void => {
    event.preventDefault()
    if (isActive) onSend(text.trim())
  }
  return (
    <form class="reason-form" onSubmit={send}>
      <label>
        {label}
        <textarea
          ref={field}
          rows={2}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && send(event)}
        />
      </label>
      <button type="submit" class="deny" disabled={!isActive}>
        {button}
      </button>
    </form>
  )
}
